import { beforeAll, describe, expect, it } from 'vitest';
import { type Door, openDoor } from '../support/door.ts';

const account = '{ account { username } }';
const RESPONSE = 'application/graphql-response+json';

let open: Door;
beforeAll(async () => {
  open = await openDoor({ AUTH_MODE: 'none' });
});

describe('A batch', () => {
  const batch = (size: number) =>
    JSON.stringify(Array.from({ length: size }, () => ({ query: account })));
  const send = async (body: string, accept: string) => {
    const { status, text } = await open.send('/graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept },
      body,
    });
    return { status, answers: JSON.parse(text) };
  };
  const refusal = {
    errors: [
      { message: expect.stringMatching(/one operation/), extensions: { code: 'BAD_USER_INPUT' } },
    ],
  };

  it('is refused as a list, with an error for each of its operations', async () => {
    const before = open.calls();
    for (const [accept, status] of [
      ['*/*', 200],
      ['application/json', 200],
      [RESPONSE, 400],
    ] as const) {
      expect(await send(batch(3), accept)).toEqual({
        status,
        answers: [refusal, refusal, refusal],
      });
    }
    expect(open.calls()).toBe(before);
  });

  it('without an operation is refused with one error', async () => {
    expect((await send('[]', '*/*')).answers).toEqual([refusal]);
  });

  it('of thousands makes no answer of thousands', async () => {
    const { answers } = await send(`[${'0,'.repeat(5000)}0]`, '*/*');
    expect(answers).toHaveLength(50);
  });
});
