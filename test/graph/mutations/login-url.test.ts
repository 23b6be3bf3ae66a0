import { describe, expect, it } from 'vitest';
import type { Fault } from '../../../src/sandbox/sandbox.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { noes, passTime, Stage } from './story.ts';

const stage = new Stage();

const USER = 41;
const path = `/api/user/login/${USER}`;
const call = `GET ${path}`;
const making = `createLoginUrl(userId: "${USER}")`;
const selection = 'LoginUrl { url expiresAt }';

describe('Mutation.createLoginUrl', () => {
  it('is one GET, and answers a URL that logs in once, with its end', async () => {
    const clock = new VirtualClock();
    const world = await stage.open({ clock });
    const { result, calls } = await stage.change(making, selection, world);
    expect(calls).toEqual([call]);
    expect(result).toEqual({
      __typename: 'LoginUrl',
      url: expect.stringContaining('/login/sso/'),
      expiresAt: '2030-01-01T01:00:00Z',
    });
    const visit = async () => (await fetch(String(result.url))).status;
    expect(await visit()).toBe(200);
    expect(await visit()).not.toBe(200);
  });

  it('makes another one each time, also when they are asked for together', async () => {
    const twice = `mutation {
      a: ${making} { ... on ${selection} }
      b: ${making} { ... on ${selection} }
    }`;
    const answers = await Promise.all(
      [1, 2, 3].map(() => stage.world.ask<Record<'a' | 'b', { url: string }>>(twice)),
    );
    const urls = answers.flatMap(({ data: { a, b } }) => [a.url, b.url]);
    expect(new Set(urls).size).toBe(6);
    expect(stage.world.calls()).toEqual(Array.from({ length: 6 }, () => call));
    for (const { receipt } of answers) {
      expect(receipt).toMatchObject({ calls: 2, saved: { cache: 0, coalesced: 0 }, stale: 0 });
    }
  });

  it('makes nothing that is kept wrong', async () => {
    const look = `{ user(id: "${USER}") { username } }`;
    await stage.world.data(look);
    await stage.change(making, selection);
    stage.world.forgetCalls();
    await stage.world.data(look);
    expect(stage.world.calls()).toEqual([]);
  });

  it.each(['0', 'ann', Buffer.from('Plan:1').toString('base64url')])(
    'finds a fault in the id %s, and spends no call',
    async (id) => {
      const { result, calls } = await stage.change(`createLoginUrl(userId: "${id}")`, selection);
      expect(calls).toEqual([]);
      expect(result).toMatchObject({ __typename: 'InvalidInput', issues: [{ path: ['userId'] }] });
    },
  );

  it.each([
    ['at the top', { error: '0', url: 'https://in.example/?a=1&amp;b=2' }],
    ['in `data`', { error: false, data: { url: 'https://in.example/?a=1&b=2' } }],
  ])('reads a URL %s', async (_, body) => {
    stage.answer(path, body);
    const { result } = await stage.change(making, selection);
    expect(result.url).toBe('https://in.example/?a=1&b=2');
  });

  it.each(noes)('understands a no by `error` %s', async (_, body, status, message) => {
    stage.answer(path, body, status);
    const { result } = await stage.change(making, selection);
    expect(result).toEqual({ __typename: 'Rejected', message, upstream: 'LINKS' });
  });

  it.each([
    ['the connection breaks', { kind: 'drop', applied: true }],
    ['half an answer', { kind: 'truncated' }],
    ['HTTP 500', { kind: 'error-500', applied: true }],
    ['HTML', { kind: 'html', applied: true }],
    ['an empty body', { kind: 'empty', applied: true }],
    ['no URL', { kind: 'answer', rewrite: (a) => ({ ...a, body: { error: 0, url: '' } }) }],
  ] as [string, Fault][])('is not sent again after %s', async (_, fault) => {
    stage.sandbox.links.fault({ ...fault, path, times: 1 });
    const { data, errors, calls } = await stage.change(making, selection);
    expect(data).toEqual({ result: null });
    expect(errors[0]?.extensions).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    expect(errors[0]?.message).toContain('It is safe to retry.');
    expect(calls).toEqual([call]);
  });

  it.each(['refuse-429', 'refuse-200'] as const)('is sent again after %s', async (kind) => {
    const clock = new VirtualClock();
    const world = await stage.open({ clock, env: { LINKS_TIMEOUT_MS: '86400000' } });
    stage.sandbox.links.fault({ kind, retryAfter: 2, times: 1 });
    const { result, calls } = await passTime(clock, stage.change(making, selection, world));
    expect(result).toMatchObject({ __typename: 'LoginUrl' });
    expect(calls).toEqual([call, call]);
  });
});
