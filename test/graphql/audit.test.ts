import { serverAudits } from 'graphql-http';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Door, openDoor } from '../support/door.ts';

let door: Door;
beforeAll(async () => {
  door = await openDoor({ AUTH_MODE: 'none', INTROSPECTION: 'true' });
});

const audits = serverAudits({ url: () => `${door.url}/graphql`, fetchFn: fetch });
const named = (level: RegExp) =>
  audits.filter(({ name }) => level.test(name)).map((audit) => [audit.name, audit] as const);

describe('GraphQL over HTTP', () => {
  it('is audited at all', () => {
    expect(audits.length).toBeGreaterThan(50);
  });

  it.each(named(/^(MUST|SHOULD)\b/))('%s', async (_, audit) => {
    const result = await audit.fn();
    expect('reason' in result ? result.reason : result.status).toBe('ok');
  });

  it('says which of what MAY be it leaves', async () => {
    const results = await Promise.all(named(/^MAY\b/).map(([, audit]) => audit.fn()));
    const left = results.filter(({ status }) => status !== 'ok').map(({ name }) => name);
    expect(left).toEqual([]);
  });

  it('answers an operation whose address ends like that of a probe', async () => {
    const read = await door.send('/graphql?query={__typename}&page=/health');
    const write = await door.send('/graphql?from=/health', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"query":"{ __typename }"}',
    });
    for (const { data } of [read, write]) expect(data).toEqual({ __typename: 'Query' });
  });
});
