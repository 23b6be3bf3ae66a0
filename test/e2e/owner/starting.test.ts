import { expect, it } from 'vitest';
import { freePort } from '../../support/free-port.ts';
import { GATEWAY, start } from '../../support/process.ts';

it('answers what comes while it starts, also where nothing is stored', async () => {
  const port = await freePort();
  const env = { PORT: String(port), SANDBOX: 'on', MAX_WAIT_MS: '3000' };
  const { child, ended } = start(process.execPath, GATEWAY, { cwd: '.', env });
  const ask = () =>
    fetch(`http://127.0.0.1:${port}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"query":"{ __typename }"}',
    });
  try {
    let response: Response | null = null;
    // From the first moment in which the port is open.
    while (!response) response = await ask().catch(() => null);
    expect(await response.json()).toMatchObject({ data: { __typename: 'Query' } });
  } finally {
    child.kill('SIGKILL');
    await ended;
  }
});
