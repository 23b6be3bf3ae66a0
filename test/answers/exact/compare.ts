import { expect } from 'vitest';
import type { Role } from '../../../src/auth/viewer.ts';
import type { Asked, Scene } from './scene.ts';
import { methods, type Sender } from './senders.ts';
import type { Seen, Sent } from './wire.ts';

/** How often each asks: at first the answer is noted, then remembered, and from then on given from memory. */
const TIMES = 4;
/** What the executor's own answer, without a socket, is answerable for. */
const OF_THE_GRAPH = ['content-type', 'cache-control', 'www-authenticate', 'retry-after'];

/**
 * Has several senders ask for the same by turns, and expects each to get what the whole path answers at the same
 * moment. Resolves with how many could be compared: not those between whose answers of the whole path something
 * changed.
 */
export async function compare(
  scene: Scene,
  asked: Asked,
  senders: readonly Sender[],
): Promise<number> {
  const requests: Sent[] = [];
  for (const sender of senders) {
    requests.push(scene.request(sender, asked, await tagFor(scene, asked, sender)));
  }
  const whole = async (): Promise<Seen[]> => {
    const answers: Seen[] = [];
    for (const request of requests) answers.push(await scene.wire.ask(request, 'in chunks'));
    return answers;
  };
  const before = await whole();
  const rounds: Seen[][] = requests.map(() => []);
  for (let time = 0; time < TIMES; time += 1) {
    for (const [index, request] of requests.entries()) {
      rounds[index]?.push(await scene.wire.ask(request, 'as it is'));
    }
  }
  const executed: (object | null)[] = [];
  for (const request of requests) executed.push(await executedAnswer(scene, request));
  const after = await whole();
  const same = requests.flatMap((request, index) => {
    const answer = before[index] as Seen;
    // What lands between the two is no fault of those in the middle.
    if (JSON.stringify(answer) !== JSON.stringify(after[index])) return [];
    const expected = { request, answers: Array<Seen>(TIMES).fill(answer) };
    expect({ request, answers: rounds[index] }).toEqual(expected);
    if (executed[index])
      expect({ request, ...ofTheGraph(answer) }).toEqual({ request, ...executed[index] });
    const role = scene.roleOf(senders[index]?.caller ?? '');
    if (role !== undefined) expectRights({ request, answer }, role);
    return [{ request, answer }];
  });
  for (const one of same) for (const other of same) expectSeen(one, other);
  return same.length;
}

/** Asks so often that the answer would be given from memory if this were not the whole path. */
export async function wholePath(scene: Scene, asked: Asked): Promise<void> {
  const sender: Sender = { caller: 'admin', method: 'GET', headers: {}, has: 'nothing' };
  for (const method of methods) {
    const request = scene.request({ ...sender, method }, asked, null);
    for (let time = 0; time < TIMES; time += 1) await scene.wire.ask(request, 'in chunks');
  }
}

interface Exchange {
  readonly request: Sent;
  readonly answer: Seen;
}

/** Expects a caller to be let in or not, and to see what needs a role or not: both paths could be wrong alike. */
function expectRights({ request, answer }: Exchange, role: Role | null): void {
  const { body, headers, status } = answer;
  const isKnown = headers['www-authenticate'] === undefined && !body.includes('"UNAUTHENTICATED"');
  // A page that may not call is refused first.
  if (status !== 403) expect({ request, isKnown }).toEqual({ request, isKnown: role !== null });
  const seen = /"plans":(null|\[)/.exec(body);
  if (seen && role)
    expect({ request, seen: seen[1] }).toEqual({ request, seen: role === 'admin' ? '[' : 'null' });
}

/**
 * Expects two answers that a cache may keep under one address to differ only where `Vary` says by what: otherwise a
 * cache would give the one for the other.
 */
function expectSeen(one: Exchange, other: Exchange): void {
  if (one.request.path !== other.request.path) return;
  if (!isKept(one) || !isKept(other)) return;
  if (JSON.stringify(one.answer) === JSON.stringify(other.answer)) return;
  const names = one.answer.headers['vary'] ?? [];
  const differing = names.filter(
    (name) => one.request.headers[name] !== other.request.headers[name],
  );
  expect({ one, other, differing }).not.toMatchObject({ differing: [] });
}

function isKept({ request, answer }: Exchange): boolean {
  if (request.method !== 'GET' || answer.status !== 200) return false;
  return !answer.headers['cache-control']?.join().includes('no-store');
}

/** The tag that a sender says it has. */
async function tagFor(scene: Scene, asked: Asked, sender: Sender): Promise<string | null> {
  const current = async ({ 'accept-encoding': encoding, ...others }: Sender['headers']) => {
    const headers = {
      ...others,
      ...(sender.has === 'this' && encoding !== undefined ? { 'accept-encoding': encoding } : {}),
    };
    const request = scene.request({ ...sender, headers }, asked, null);
    return (await scene.wire.ask(request, 'in chunks')).headers['etag']?.join() ?? null;
  };
  switch (sender.has) {
    case 'nothing':
      return null;
    case 'anything':
      return '*';
    case 'another':
      return '"another", W/"other"';
    default:
      return current(sender.headers);
  }
}

/** What the executor answers to what has no socket; `null` where a page of some origin asks, which is seen at the door. */
async function executedAnswer(scene: Scene, request: Sent): Promise<object | null> {
  const { body, headers, method, path } = request;
  if (headers['origin'] !== undefined || headers['sec-fetch-site'] !== undefined) return null;
  const response = await scene.door.gateway.fetch(
    new Request(`http://gateway${path}`, { method, headers: { ...headers }, body }),
  );
  const known = OF_THE_GRAPH.map((name) => [name, response.headers.get(name)]);
  return { status: response.status, body: await response.text(), known };
}

function ofTheGraph({ body, headers, status }: Seen): object {
  return { status, body, known: OF_THE_GRAPH.map((name) => [name, headers[name]?.join() ?? null]) };
}
