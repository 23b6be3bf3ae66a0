import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Door, openDoor } from '../support/door.ts';
import { until } from '../support/uploads.ts';

let door: Door;
beforeEach(async () => {
  door = await openDoor({ AUTH_MODE: 'none', metrics: 'open' });
});
afterEach(async () => {
  const closed = door.close();
  // What the upstream never answers is given up.
  await door.clock.advance(60_000);
  await closed;
});

const lines = () =>
  door
    .log()
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Record<string, unknown>);

/** Sends an operation on a connection that a test can cut. */
function send(query: string, headers = ''): Socket {
  const socket = connect(Number(new URL(door.url).port), '127.0.0.1');
  socket.on('error', () => undefined);
  const body = JSON.stringify({ query });
  const head = 'POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n';
  socket.write(`${head}${headers}Content-Length: ${body.length}\r\n\r\n${body}`);
  return socket;
}

describe('A caller that hangs up', () => {
  it('while its read is under way has canceled it, which is no fault of the gateway', async () => {
    door.sandbox.links.fault({ kind: 'hang' });
    const socket = send('query Slow { account { username } }');
    await until(() => door.calls() === 1);
    socket.destroy();
    await until(() => lines().some(({ msg }) => msg === 'operation'));
    const line = lines().find(({ msg }) => msg === 'operation');
    expect(line).toMatchObject({ operation: 'Slow', outcome: 'canceled' });
    expect(line).not.toHaveProperty('codes');
    const { text } = await door.send('/metrics');
    expect(text).toContain('gateway_operations_total{type="query",outcome="canceled"} 1');
    expect(text).not.toMatch(/gateway_operation_errors_total\{.*\} [1-9]/);
    expect(lines().filter(({ level }) => level !== 'info')).toEqual([]);
  });

  it('in the middle of an answer in parts has canceled it too', async () => {
    door.sandbox.links.fault({ kind: 'hang', path: '/api/channels' });
    const socket = send(
      'query Parts { account { username } ... @defer { channels { totalCount } } }',
      'Accept: multipart/mixed\r\n',
    );
    let text = '';
    socket.on('data', (piece) => {
      text += piece;
    });
    await until(() => text.includes('hasNext'));
    socket.destroy();
    await door.clock.advance(20_000);
    await until(() => lines().some(({ msg }) => msg === 'operation'));
    expect(lines().find(({ msg }) => msg === 'operation')).toMatchObject({ outcome: 'canceled' });
  });

  it.each([
    ['POST /graphql', 'application/json', 1000],
    ['POST /graphql', 'application/json', 100_000],
    ['POST /graphql', 'application/x-www-form-urlencoded', 1000],
    ['POST /graphql', 'multipart/form-data; boundary=x', 1000],
    ['PUT /files/a.txt', 'text/plain', 1000],
  ])(
    'in the middle of %s as %s of %i bytes leaves no defect in the log',
    async (line, type, length) => {
      const socket = connect(Number(new URL(door.url).port), '127.0.0.1');
      const head = `${line} HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${type}\r\nApollo-Require-Preflight: 1\r\n`;
      socket.write(`${head}Content-Length: ${length}\r\n\r\n{"query`);
      await until(() => socket.bytesWritten > 0);
      await door.send('/livez');
      socket.destroy();
      await door.clock.advance(1000);
      await door.send('/livez');
      expect(lines().filter(({ level }) => level !== 'info')).toEqual([]);
      expect(JSON.stringify(lines())).not.toContain('INTERNAL_SERVER_ERROR');
    },
  );
});
