import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, onTestFinished } from 'vitest';
import { makeOnce, TIME_MS } from './make-once.ts';

it(
  'creations with keys are made once when the one gateway is killed right after it has sent them',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'writes-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    await makeOnce({ env: { STATE_DIR: folder }, processes: 1 });
  },
  TIME_MS,
);
