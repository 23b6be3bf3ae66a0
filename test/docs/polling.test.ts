import { afterEach, describe, expect, it } from 'vitest';
import { type Door, openDoor } from '../support/door.ts';
import { until } from '../support/live-recipes.ts';
import { pageAt } from '../support/readme.ts';

const LISTS =
  '{ campaigns(first: 10) { nodes { id name } } channels(first: 10) { nodes { id name } } }';
const EVERY_MS = 5000;
const TURNS = 120;

/** The rows of the table by who looks: requests to the gateway and upstream. */
const shown = new Map(
  [...pageAt('docs/frontend.md').matchAll(/^\| (\d+ viewers?.*?) \| (\d+) \| (\d+) \|$/gm)].map(
    ([, who = '', asked, upstream]) => [who, { asked: Number(asked), upstream: Number(upstream) }],
  ),
);

describe('what polling costs, as docs/frontend.md shows it', () => {
  let door: Door;
  afterEach(() => door.close());

  it.each([
    ['1 viewer who polls every 5 seconds', 1],
    ['20 viewers who poll every 5 seconds', 20],
  ])('%s', async (who, viewers) => {
    door = await openDoor({ AUTH_MODE: 'none' });
    let asked = 0;
    for (let turn = 0; turn < TURNS; turn += 1) {
      const answers = await Promise.all(Array.from({ length: viewers }, () => door.ask(LISTS)));
      asked += answers.length;
      for (const { errors } of answers) expect(errors).toEqual([]);
      await door.clock.advance(EVERY_MS);
    }
    expect({ asked, upstream: door.calls() }).toEqual(shown.get(who));
  });

  it('20 viewers with `@live`', async () => {
    door = await openDoor({ AUTH_MODE: 'none' });
    const headers = { 'content-type': 'application/json', accept: 'text/event-stream' };
    const body = JSON.stringify({ query: `query Lists @live ${LISTS}` });
    const leave = new AbortController();
    const { signal } = leave;
    const streams = Array.from({ length: 20 }, async () => {
      const response = await fetch(`${door.url}/graphql`, {
        method: 'POST',
        headers,
        body,
        signal,
      });
      expect(response.status).toBe(200);
      return response;
    });
    const asked = (await Promise.all(streams)).length;
    await until(() => door.calls(), 2);
    for (let turn = 0; turn < TURNS; turn += 1) await door.clock.advance(EVERY_MS);
    expect({ asked, upstream: door.calls() }).toEqual(shown.get('20 viewers with `@live`'));
    leave.abort();
  });
});
