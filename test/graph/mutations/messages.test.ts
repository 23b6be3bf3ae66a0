import { beforeEach, describe, expect, it } from 'vitest';
import type { World } from '../../support/gateway.ts';
import { Stage } from './story.ts';

const stage = new Stage();
let world: World;
beforeEach(() => {
  world = stage.world;
});

/** `extensions.messages` of the answer to an operation. */
async function messages(query: string): Promise<unknown> {
  const { errors, text } = await world.ask(query);
  expect(errors).toEqual([]);
  return (JSON.parse(text) as { extensions: { messages?: unknown } }).extensions.messages;
}

/** Has the API say this about each update of a channel. */
function says(message: unknown): void {
  stage.sandbox.links.fault({
    kind: 'answer',
    path: '/api/channel/*/update',
    rewrite: (answer) => ({ ...answer, body: { error: 0, message } }),
  });
}

const update = 'updateChannel(input: { id: 21, name: "Trade" }) { __typename }';

describe('extensions.messages', () => {
  it('are what the API says about each write, by the path of its field', async () => {
    const query = `mutation { first: ${update} deleteChannel(id: 65) { __typename }
      createChannel(input: { name: "New" }) { __typename } }`;
    expect(await messages(query)).toEqual([
      { path: ['first'], message: expect.stringContaining('updated') },
      { path: ['deleteChannel'], message: expect.stringContaining('deleted') },
    ]);
  });

  it('are left out where nothing was said, and of queries', async () => {
    says('');
    expect(await messages(`mutation { ${update} }`)).toBeUndefined();
    expect(await messages('{ account { username } }')).toBeUndefined();
  });

  it.each([
    ['an address', 'Saved. See https://10.1.2.3/admin?x=1 now', 'Saved. See [address] now'],
    ['its own address', () => `Saved on ${stage.sandbox.links.url}.`, 'Saved on [address].'],
    ['the API key', () => `Saved by ${stage.sandbox.links.key}`, 'Saved by [hidden]'],
    ['another key', 'Token: a1b2c3d4e5f6a7b8c9d0', 'Token: [hidden]'],
    ['markup', '<b>Saved</b><script>alert(1)</script> &amp; done', 'Saved & done'],
    ['what was sent', 'Trade-1234567890-abcdef was saved', 'Trade-1234567890-abcdef was saved'],
  ])('show %s only to callers who may see it', async (_, said, shown) => {
    says(typeof said === 'function' ? said() : said);
    const query =
      'mutation { updateChannel(input: { id: 21, name: "Trade-1234567890-abcdef" }) { __typename } }';
    expect(await messages(query)).toEqual([{ path: ['updateChannel'], message: shown }]);
  });

  it('are cut where they are long, and the key is hidden all the same', async () => {
    says(`${'x '.repeat(144)}${stage.sandbox.links.key}`);
    const [first] = (await messages(`mutation { ${update} }`)) as { message: string }[];
    expect(first?.message.length).toBeLessThanOrEqual(300);
    expect(first?.message).not.toContain(stage.sandbox.links.key.slice(0, 6));
  });

  it.each([[7], [null], [['a']], [{ a: 'b' }]])('are left out if it sends %j', async (message) => {
    says(message);
    expect(await messages(`mutation { ${update} }`)).toBeUndefined();
  });

  it('say nothing of a write that was rejected, or only planned', async () => {
    const query = 'mutation { deletePixel(id: 999999) { __typename } }';
    expect(await messages(query)).toBeUndefined();
    const { text } = await world.ask(`mutation { ${update} }`, {}, { 'x-gateway-dry-run': '1' });
    expect(text).not.toContain('messages');
  });
});
