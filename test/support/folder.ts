import { hash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatTokenFile, type KnownToken } from '../../src/auth/token-file.ts';
import { closing } from './closing.ts';

/** A folder that is removed with the test, or the file, that makes it. */
export function tempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'test-'));
  closing(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** What is told of a token; its text is its name unless it is told. */
export type Told = Pick<KnownToken, 'name' | 'role'> & Partial<KnownToken> & { token?: string };

/** A token as it is known to the gateway. */
export function known({ token, ...told }: Told): KnownToken {
  return { sha256: hash('sha256', token ?? told.name), ...told };
}

/** A file of tokens in a folder of its own. */
export function tokenFile(...tokens: readonly Told[]): string {
  const file = join(tempFolder(), 'tokens.json');
  writeFileSync(file, formatTokenFile(tokens.map(known)));
  return file;
}
