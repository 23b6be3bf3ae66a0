import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { startSandbox } from '../../../src/sandbox/sandbox.ts';
import { PLENTY } from '../../support/gateway.ts';
import { GATEWAY, type Running, start } from '../../support/process.ts';

const ROUNDS = 4;
const NAME = 'query ($id: ID!) { channel(id: $id) { name } }';
const RENAME =
  'mutation ($id: ID!, $name: String!) { updateChannel(input: { id: $id, name: $name }) { ... on Channel { name } } }';

it('serves no state from before an answered write after a kill', async () => {
  const sandbox = await startSandbox({ limit: { requests: PLENTY } });
  const folder = mkdtempSync(join(tmpdir(), 'killed-'));
  let running: Running | undefined;
  onTestFinished(async () => {
    running?.child.kill('SIGKILL');
    await running?.ended;
    await sandbox.close();
    rmSync(folder, { recursive: true });
  });
  const begin = async () => {
    running = start(process.execPath, GATEWAY, {
      cwd: '.',
      env: {
        PORT: '0',
        AUTH_MODE: 'none',
        LINKS_BASE_URL: sandbox.links.url,
        LINKS_API_KEY: sandbox.links.key,
        LINKS_RATE_LIMIT: String(PLENTY),
        STATE_DIR: join(folder, 'state'),
      },
    });
    const [, url = ''] = await running.says(/(http:\/\/localhost:\d+)\/graphql/);
    return async (query: string, variables: object): Promise<unknown> => {
      const response = await fetch(`${url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ query, variables }),
      });
      const { data } = (await response.json()) as { readonly data: unknown };
      return data;
    };
  };
  let ask = await begin();
  const { channels } = (await ask('{ channels(first: 1) { nodes { id } } }', {})) as {
    readonly channels: { readonly nodes: readonly [{ readonly id: string }] };
  };
  const [{ id }] = channels.nodes;
  for (let round = 1; round <= ROUNDS; round += 1) {
    const name = `Renamed ${round}`;
    await ask(NAME, { id });
    expect(await ask(RENAME, { id, name })).toEqual({ updateChannel: { name } });
    running?.child.kill('SIGKILL');
    await running?.ended;
    ask = await begin();
    expect(await ask(NAME, { id })).toEqual({ channel: { name } });
  }
}, 60_000);
