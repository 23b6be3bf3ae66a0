import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GatewayClient } from '../../src/commands/export/gateway-client.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

let server: Server;
/** The statuses of the next responses; 503 after them. */
let statuses: number[];

beforeEach(async () => {
  statuses = [];
  server = createServer((_request, response) => {
    const status = statuses.shift() ?? 503;
    response.writeHead(status, { 'content-type': 'application/json', 'retry-after': '60' });
    response.end(status === 200 ? '{"data":{"job":null}}' : '{"errors":[{"message":"No."}]}');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

/** A client whose waits are over at once, and the time that it has waited, in seconds. */
function impatient() {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const clock = new VirtualClock();
  const { signal } = new AbortController();
  const delayed = (): void => void setImmediate(() => void clock.step());
  const client = new GatewayClient({ url, token: null, clock, signal, delayed });
  return { client, waited: () => clock.now() / 1000 };
}

describe('the client of the export command', () => {
  it('gives up after 30 s if no gateway listens', async () => {
    const { client, waited } = impatient();
    server.close();
    await once(server, 'close');
    await expect(client.job('1')).rejects.toThrow(/unavailable \(ECONNREFUSED\)/);
    expect(waited()).toBeGreaterThanOrEqual(30);
    expect(waited()).toBeLessThan(40);
  });

  it('waits ten minutes for a gateway that has answered, each time as long as it says', async () => {
    statuses = [200];
    const { client, waited } = impatient();
    expect(await client.job('1')).toBeNull();
    await expect(client.job('1')).rejects.toThrow(/unavailable \(status 503\)/);
    expect(waited()).toBe(600);
  });

  it('counts the time of each outage alone', async () => {
    statuses = [200, ...Array<number>(9).fill(503), 200, ...Array<number>(9).fill(503), 200];
    const { client, waited } = impatient();
    for (let n = 0; n < 3; n += 1) expect(await client.job('1')).toBeNull();
    expect(waited()).toBe(18 * 60);
  });

  it('does not repeat a request that is refused', async () => {
    statuses = [403, 200];
    const { client, waited } = impatient();
    await expect(client.job('1')).rejects.toThrow('No.');
    expect(waited()).toBe(0);
  });
});
