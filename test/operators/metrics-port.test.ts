import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { createGateway } from '../../src/gateway.ts';
import { faults } from '../config/faults.ts';
import { type BusyGateway, busyGateway } from '../support/busy-gateway.ts';

let busy: BusyGateway | undefined;
afterEach(() => {
  busy = undefined;
});

const CALLERS = ['/graphql?query={__typename}', '/schema.graphql', '/files/a.txt'];
const OPERATORS = ['/metrics', '/console', '/console.json', '/status'];
const PROBES = ['/livez', '/readyz'];

/** Which paths are answered, be it with a refusal. */
async function answered(url: string): Promise<string[]> {
  const found: string[] = [];
  for (const path of [...CALLERS, ...OPERATORS, ...PROBES]) {
    const headers = { 'apollo-require-preflight': 'true' };
    const { status } = await fetch(url + path, { headers, redirect: 'manual' });
    if (status !== 404) found.push(path);
  }
  return found;
}

describe('METRICS_PORT', () => {
  it('serves metrics and console on a separate port, and the probes on both', async () => {
    busy = await busyGateway({ METRICS_PORT: '0' });
    expect(busy.operatorsUrl).not.toBe(busy.url);
    expect(await answered(busy.url)).toEqual([...CALLERS, ...PROBES]);
    expect(await answered(busy.operatorsUrl)).toEqual([...OPERATORS, ...PROBES]);
    await busy.ask('{ account { username } }');
    const metrics = await (await fetch(`${busy.operatorsUrl}/metrics`)).text();
    expect(metrics).toMatch(/gateway_operations_total\{type="query",outcome="ok"\} [1-9]/);
    expect(busy.gateway.report().join('\n')).toContain(`${busy.operatorsUrl}/metrics`);
    const console = await (await fetch(`${busy.operatorsUrl}/console.json`)).json();
    expect(console).toMatchObject({ links: { graphiql: false, schema: false } });
  });

  it('unset serves everything on one port', async () => {
    busy = await busyGateway();
    expect(busy.operatorsUrl).toBe(busy.url);
    expect(await answered(busy.url)).toEqual([...CALLERS, ...OPERATORS, ...PROBES]);
  });

  it('permits them to all that reach that port', async () => {
    busy = await busyGateway({ METRICS_PORT: '0' });
    const headers = { 'x-forwarded-for': '192.0.2.1' };
    expect((await fetch(`${busy.operatorsUrl}/metrics`, { headers })).status).toBe(200);
  });

  it('is named in the error if the port is in use', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    const { port } = other.address() as AddressInfo;
    const gateway = await createGateway(loadConfig({ PORT: '0', METRICS_PORT: String(port) }));
    await expect(gateway.listen()).rejects.toThrow(
      /in use by another process. Set METRICS_PORT to/,
    );
    await gateway.close();
    other.close();
  });

  it('is rejected if equal to PORT', () => {
    expect(faults({ METRICS_PORT: '4000' })).toEqual([
      'METRICS_PORT is equal to PORT. Set another port, or remove METRICS_PORT to serve the metrics on PORT.',
    ]);
    expect(faults({ METRICS_PORT: '9464' })).toEqual([]);
  });
});
