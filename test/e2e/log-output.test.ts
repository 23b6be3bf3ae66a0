import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import { exchange } from '../support/exchange.ts';
import { freePort } from '../support/free-port.ts';
import { GATEWAY } from '../support/process.ts';

type Child = ChildProcessByStdio<null, Readable, null>;

let children: Child[] = [];
afterEach(async () => {
  for (const child of children) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  children = [];
});

/** The built gateway, whose log is not read yet. */
async function unread(...flags: string[]): Promise<{ child: Child; url: string }> {
  const port = await freePort();
  const production = { NODE_ENV: 'production', SANDBOX: 'on' };
  const env = { ...production, PORT: String(port), LOG_LEVEL: 'info' };
  const args = [...flags, ...GATEWAY];
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const url = `http://127.0.0.1:${port}`;
  const isAlive = async () => (await fetch(`${url}/livez`).catch(() => null))?.ok;
  await expect.poll(isAlive).toBe(true);
  return { child, url };
}

async function ask(
  url: string,
  id: string,
  query = '{ account { username } }',
  headers: Readonly<Record<string, string>> = {},
): Promise<number> {
  const { status } = await exchange(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-request-id': id, ...headers },
    body: JSON.stringify({ query }),
  });
  return status;
}

/** With this header a request goes the whole way, on which its body is parsed once. */
const whole = { 'content-encoding': 'identity' };

/** Asks the given number of times, several at once. Ids are long, so that lines are. */
async function askMany(url: string, count: number): Promise<void> {
  for (let at = 0; at < count; at += 20) {
    const ids = Array.from({ length: 20 }, (_, n) => `${at + n}:`.padEnd(120, 'x'));
    const statuses = await Promise.all(ids.map((id) => ask(url, id)));
    expect(new Set(statuses)).toEqual(new Set([200]));
  }
}

interface Line {
  readonly msg: string;
  readonly requestId?: string;
}

const linesOf = (log: string): Line[] =>
  log
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Line);

const operationsOf = (log: string): number[] =>
  linesOf(log)
    .filter(({ msg }) => msg === 'operation')
    .map(({ requestId = '' }) => Number.parseInt(requestId, 10));

describe('a log that is not read', () => {
  it('holds up no request, and is there once it is read', async () => {
    const { child, url } = await unread();
    // More than the pipe and the megabyte that is held take.
    await askMany(url, 4000);
    let log = '';
    const isTold = new Promise<void>((resolve) => {
      child.stdout.setEncoding('utf8').on('data', (piece: string) => {
        log += piece;
        if (log.includes('lines are missing')) resolve();
      });
    });
    await isTold;
    await ask(url, '4000');
    child.kill('SIGTERM');
    expect(await once(child, 'close')).toEqual([0, null]);
    const missing = linesOf(log).find(({ msg }) => msg.includes('lines are missing'));
    const ids = operationsOf(log);
    expect(ids.at(-1)).toBe(4000);
    expect(new Set(ids).size + Number.parseInt(missing?.msg ?? '', 10)).toBe(4001);
    expect(linesOf(log).at(-1)).toMatchObject({ msg: 'stopped' });
  });

  it('is written whole where reading begins at the end', async () => {
    const { child, url } = await unread();
    // More than the pipe takes, and less than is held.
    await askMany(url, 300);
    child.kill('SIGTERM');
    const closed = once(child, 'close');
    const log = await text(child.stdout);
    expect(await closed).toEqual([0, null]);
    expect(operationsOf(log)).toHaveLength(300);
    expect(linesOf(log).at(-1)).toMatchObject({ msg: 'stopped' });
  });

  it('does not keep the process from its end', async () => {
    const { child, url } = await unread();
    await askMany(url, 300);
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
  });
});

describe('an exception of the event loop', () => {
  it('ends the process with every line written, its own at once', async () => {
    const { child, url } = await unread('--import', './test/e2e/defective.mjs');
    const log = text(child.stdout);
    await askMany(url, 300);
    await ask(url, '300', '{ __typename } # throw outside', whole);
    expect(await once(child, 'exit')).toEqual([1, null]);
    const ids = operationsOf(await log);
    expect(ids.sort((a, b) => a - b)).toEqual(Array.from({ length: 301 }, (_, n) => n));
    expect(linesOf(await log).filter(({ msg }) => msg === 'unexpected error')).toHaveLength(1);
  });
});
