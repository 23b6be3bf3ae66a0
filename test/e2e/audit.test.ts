import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tempFolder } from '../support/folder.ts';

let registry: Server | undefined;
let cache = '';
beforeEach(() => {
  // npm remembers advisories from one audit to the next.
  cache = tempFolder();
});
afterEach(() => registry?.close());

/** A registry that knows these advisories by package, or that has never heard of audits. */
async function startRegistry(advisories: Record<string, unknown> | null): Promise<string> {
  registry = createServer((request, response) => {
    request.resume();
    if (request.url?.endsWith('/advisories/bulk') && advisories) {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(advisories));
    } else {
      response.writeHead(405).end();
    }
  }).listen(0, '127.0.0.1');
  await once(registry, 'listening');
  const address = registry.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/`;
}

async function audit(url: string, env: Record<string, string> = {}) {
  const { PATH = '', HOME = '' } = process.env;
  const child = spawn(process.execPath, ['scripts/audit.js'], {
    env: {
      PATH,
      HOME,
      npm_config_registry: url,
      npm_config_cache: cache,
      ...env,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'close');
  const said = await text(child.stdout);
  return { code: (await ended)[0] as number, said };
}

const hole = (severity: string): Record<string, unknown> => ({
  dataloader: [
    { id: 1, url: 'https://example.com/1', title: 'A hole', severity, vulnerable_versions: '*' },
  ],
});

describe('the audit of dependencies', () => {
  it.each(['high', 'critical'])('fails for a hole that is %s', async (severity) => {
    expect(await audit(await startRegistry(hole(severity)))).toMatchObject({ code: 1 });
  });

  it('passes a lesser one, and says that there is one', async () => {
    const { code, said } = await audit(await startRegistry(hole('moderate')));
    expect(code).toBe(0);
    expect(said).toContain('nothing high or critical, 1 lesser');
  });

  it('says that it was not done where the registry answers none, and fails only if asked to', async () => {
    const url = await startRegistry(null);
    const { code, said } = await audit(url);
    expect(code).toBe(0);
    expect(said).toContain('not done');
    expect(await audit(url, { AUDIT: 'required' })).toMatchObject({ code: 1 });
  });
});
