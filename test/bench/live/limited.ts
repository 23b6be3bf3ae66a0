import { request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { mostArrivals } from '../../support/window.ts';
import type { Figure } from '../report/measurement.ts';
import { Scene } from './scene.ts';

/** What is shown to one viewer since a moment: how old the oldest of it was at most. */
class AgesShown {
  /** In milliseconds, at any moment since `begin`. */
  oldestMs = 0;
  #counts = false;
  /** When the oldest answer that is shown was asked for, on `performance.now()`. */
  #askedAt = Number.NaN;
  readonly #sent;

  /** Looks at a live query; `body` is the request in JSON. */
  constructor(url: string, body: string) {
    this.#sent = request(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream;live=age' },
    });
    this.#sent.on('error', () => {});
    this.#sent.on('response', (response) => {
      let line = '';
      response.setEncoding('utf8').on('data', (piece: string) => {
        const lines = (line + piece).split('\n');
        line = lines.pop() ?? '';
        for (const each of lines) this.#read(each);
      });
    });
    this.#sent.end(body);
  }

  /** What was shown before does not count. */
  begin(): void {
    this.#look();
    this.#counts = true;
    this.oldestMs = 0;
  }

  /** Looks no longer, and answers how old the oldest was at most. */
  end(): number {
    this.#look();
    this.#sent.destroy();
    return this.oldestMs;
  }

  #read(line: string): void {
    const age = /"ageMs":(\d+)/.exec(line)?.[1];
    if (age === undefined) return;
    this.#look();
    this.#askedAt = performance.now() - Number(age);
  }

  /** Nothing is as old as what is about to be replaced. */
  #look(): void {
    if (!this.#counts) return;
    const ageMs = performance.now() - this.#askedAt;
    // One that has shown nothing yet has shown nothing old.
    if (ageMs > this.oldestMs) this.oldestMs = ageMs;
  }
}

const VIEWERS = 1000;
const limit = { requests: 30, windowMs: 2000 };
const TTL_MS = 1000;
/** The first rounds of refreshes only bring their order about. */
const ROUNDS_BEFORE = 2;
const ROUNDS = 4;
/** For so long a query is watched after its last viewer. */
const GRACE_MS = 5000;
const DESERTED_MS = 6000;
const resources = ['account', 'channels', 'channelItems', 'files'];

/** What pages cost that need more reads than the limit allows in a ttl, and how old they become. */
export async function limited(): Promise<Figure[]> {
  await using scene = await Scene.set({
    limit,
    env: {
      ...Object.fromEntries(resources.map((resource) => [`ttl.${resource}`, String(TTL_MS)])),
      MAX_WAIT_MS: '60000',
    },
  });
  const { bodies, reads } = scene.pages;
  const idealMs = (reads / limit.requests) * limit.windowMs;
  const viewers = scene.viewers('age');
  await viewers.open(VIEWERS);
  const ages = bodies.map((body) => new AgesShown(scene.url, body));
  await pause(ROUNDS_BEFORE * idealMs);
  for (const each of ages) each.begin();
  const from = performance.now();
  await pause(ROUNDS * idealMs);
  const oldest = ages.map((each) => each.end());
  const { requests } = scene.sandbox.links;
  const most = mostArrivals(requests, limit.windowMs);
  const seconds = (performance.now() - from) / 1000;
  const all = requests.length;
  viewers.close();
  await pause(GRACE_MS + 500);
  scene.sandbox.links.clearLog();
  await pause(DESERTED_MS);
  return [
    {
      label: 'most upstream calls in a window',
      value: most,
      target: { atMost: limit.requests },
      note: `a window is ${limit.windowMs / 1000} s here; ${all} calls in total`,
    },
    {
      label: `N = ${reads}: age of the oldest entry shown, over N/B`,
      value: Math.max(...oldest) / idealMs,
      digits: 2,
      target: { atMost: 1.25 },
      note: `N/B ${(idealMs / 1000).toFixed(1)} s, ttl ${TTL_MS / 1000} s, for ${seconds.toFixed(0)} s; ${VIEWERS} streams`,
    },
    {
      label: `upstream calls from ${GRACE_MS / 1000} s after the last viewer left`,
      value: scene.sandbox.links.requests.length,
      target: { atMost: 0 },
      note: `in ${DESERTED_MS / 1000} s`,
    },
  ];
}
