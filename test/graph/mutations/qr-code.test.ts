import { describe, expect, it } from 'vitest';
import type { Row } from '../../support/gateway.ts';
import { behavesWhenDisturbed, noes, Stage, yeses } from './story.ts';

const stage = new Stage();

/** A code of the sandbox, a business card, and a channel that it stands in. */
const code = { id: 431, channel: 95 };

const door = '{ type: TEXT, data: { value: "Opening hours" }, name: "Door" }';
const creating = `createQrCode(input: ${door})`;
const updating = `updateQrCode(input: { id: "${code.id}", type: TEXT, data: { value: "Closed today" } })`;
const deleting = `deleteQrCode(id: "${code.id}")`;

/** Shows a code in every place where the graph has one. */
const everywhere = `{
  qrCodes(first: 100) { totalCount nodes { databaseId name } }
  qrCode(id: "${code.id}") { name statistics { clicks } }
  channel(id: "${code.channel}") {
    items(first: 100) { totalCount nodes { ... on QrItem { databaseId title qrCode { name } } } }
  }
}`;

interface Everywhere {
  readonly qrCodes: { readonly totalCount: number; readonly nodes: readonly Row[] };
  readonly qrCode: Row | null;
  readonly channel: {
    readonly items: { readonly totalCount: number; readonly nodes: readonly Row[] };
  };
}

describe('Mutation.createQrCode', () => {
  it('sends what was given in the upstream’s words, and costs one call', async () => {
    const { result, calls } = await stage.change(
      `createQrCode(input: {
        type: LINK
        data: { value: "https://example.com/menu?table=4" }
        background: "rgb(255, 255,255)"
        foreground: "RGB(0,51,102)"
        logo: "https://example.com/logo.PNG?v=2"
        name: "Menu"
      })`,
      'QrCode { id databaseId name link }',
    );
    expect(stage.written).toEqual([
      {
        method: 'POST',
        path: '/api/qr/add',
        body: {
          type: 'link',
          data: 'https://example.com/menu?table=4',
          background: 'rgb(255,255,255)',
          foreground: 'rgb(0,51,102)',
          logo: 'https://example.com/logo.PNG?v=2',
          name: 'Menu',
        },
      },
    ]);
    expect(calls).toHaveLength(1);
    const { details } = await stage.world.links<{ details: Row }>(
      `/api/qr/${String(result.databaseId)}`,
    );
    const { id: databaseId, name, link } = details;
    expect(result).toMatchObject({ __typename: 'QrCode', databaseId, name, link });
    expect(name).toBe('Menu');
  });

  it('reads what neither answer nor input says, in one call, only when it is selected', async () => {
    const { result, calls } = await stage.change(
      creating,
      'QrCode { databaseId name link scans date statistics { clicks } }',
    );
    const id = String(result.databaseId);
    expect(result).toMatchObject({ name: 'Door', scans: 0, statistics: { clicks: 0 } });
    expect(result.date).toMatch(/^\d{4}-.*Z$/);
    expect(calls).toEqual(['POST /api/qr/add', `GET /api/qr/${id}`]);
  });

  it('reads the name that the upstream has chosen', async () => {
    const nameless = 'createQrCode(input: { type: TEXT, data: { value: "x" } })';
    const { result, calls } = await stage.change(nameless, 'QrCode { name }');
    expect(result.name).toMatch(/^QR code /);
    expect(calls).toHaveLength(2);
  });

  it('shows in lists that were kept before', async () => {
    const before = await stage.world.data<Everywhere>(everywhere);
    const { result } = await stage.change(creating, 'QrCode { databaseId }');
    const after = await stage.world.data<Everywhere>(everywhere);
    expect(after.qrCodes.totalCount).toBe(before.qrCodes.totalCount + 1);
    expect(after.qrCodes.nodes[0]).toEqual({ databaseId: result.databaseId, name: 'Door' });
    const kept = stage.world.calls().filter((call) => call.includes('/api/channel/'));
    expect(kept).toEqual([]);
  });

  it('shows under an id that was known to be absent', async () => {
    const { result: first } = await stage.change(creating, 'QrCode { databaseId }');
    const id = Number(first.databaseId) + 1;
    const look = `{ qrCode(id: "${id}") { name statistics { clicks } } }`;
    expect(await stage.world.data(look)).toEqual({ qrCode: null });
    const { result } = await stage.change(creating, 'QrCode { databaseId }');
    expect(result.databaseId).toBe(id);
    const found = { name: 'Door', statistics: { clicks: 0 } };
    expect(await stage.world.data(look)).toEqual({ qrCode: found });
  });

  it('lists every fault of the input, and spends no call', async () => {
    const { result, calls } = await stage.change(
      `createQrCode(input: {
        type: LINK, data: { value: "example.com" }, name: " "
        background: "#fff", foreground: "rgb(0,0,256)", logo: "logo.gif"
      })`,
      'QrCode { databaseId }',
    );
    expect(calls).toEqual([]);
    expect(result).toMatchObject({
      __typename: 'InvalidInput',
      message: 'The input has 5 validation errors.',
      issues: [
        { path: ['input', 'data', 'value'], message: expect.stringContaining('http') },
        { path: ['input', 'background'], message: expect.stringContaining('rgb(r,g,b)') },
        { path: ['input', 'foreground'], message: expect.stringContaining('255') },
        { path: ['input', 'logo'], message: expect.stringContaining('PNG') },
        { path: ['input', 'name'], message: 'must not be blank.' },
      ],
    });
  });

  it('shows the upstream’s own refusal', async () => {
    const tooLong = `createQrCode(input: { type: TEXT, data: { value: "${'x'.repeat(3000)}" } })`;
    const { result } = await stage.change(tooLong, 'QrCode { databaseId }');
    expect(result).toEqual({
      __typename: 'Rejected',
      message: 'The data are too long for a QR code',
      upstream: 'LINKS',
    });
  });

  it.each(yeses({ id: 990, link: 'https://q.example/a?b=1&amp;c=2' }))(
    'understands a yes %s',
    async (_, body, status) => {
      stage.answer('/api/qr/add', body, status);
      const { result, calls } = await stage.change(creating, 'QrCode { databaseId name link }');
      expect(result).toEqual({
        __typename: 'QrCode',
        databaseId: 990,
        name: 'Door',
        link: 'https://q.example/a?b=1&c=2',
      });
      expect(calls).toEqual(['POST /api/qr/add']);
    },
  );

  it.each(noes)('understands a no by `error` %s', async (_, body, status, message) => {
    stage.answer('/api/qr/add', body, status);
    const { result } = await stage.change(creating, 'QrCode { databaseId }');
    expect(result).toEqual({ __typename: 'Rejected', message, upstream: 'LINKS' });
  });

  it('does not take a yes without an id for more than it is', async () => {
    const before = await stage.world.data<Everywhere>(everywhere);
    stage.answer('/api/qr/add', { error: 0, message: 'Done.' });
    const { errors } = await stage.change(creating, 'QrCode { databaseId }');
    expect(errors[0]?.extensions).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    const after = await stage.world.data<Everywhere>(everywhere);
    expect(after.qrCodes.totalCount).toBe(before.qrCodes.totalCount + 1);
  });

  behavesWhenDisturbed(stage, {
    mutation: creating,
    typename: 'QrCode',
    wire: {
      method: 'POST',
      path: '/api/qr/add',
      body: { type: 'text', data: 'Opening hours', name: 'Door' },
    },
    check: 'Query.qrCodes',
    look: '{ qrCodes(first: 100) { nodes { name } } }',
    times: ({ qrCodes }: Everywhere) => qrCodes.nodes.filter(({ name }) => name === 'Door').length,
  });
});

describe('Mutation.updateQrCode', () => {
  it('sends only what was given', async () => {
    const { result, calls } = await stage.change(updating, 'QrCode { databaseId }');
    expect(result).toEqual({ __typename: 'QrCode', databaseId: code.id });
    expect(calls).toHaveLength(1);
    const all = `updateQrCode(input: {
      id: "${code.id}", type: WIFI, data: { fields: { ssid: "Guests" } }
      background: "rgb(1,2,3)", foreground: null, logo: "logos/finch.jpeg"
    })`;
    const body = {
      type: 'wifi',
      data: { ssid: 'Guests' },
      background: 'rgb(1,2,3)',
      logo: 'logos/finch.jpeg',
    };
    const path = `/api/qr/${code.id}/update`;
    const first = { type: 'text', data: 'Closed today' };
    expect(stage.written).toEqual([{ method: 'PUT', path, body: first }]);
    await stage.change(all, 'QrCode { databaseId }');
    expect(stage.written).toEqual([{ method: 'PUT', path, body }]);
  });

  it('reads the rest in one call, only when it is selected', async () => {
    const { details } = await stage.world.links<{ details: Row }>(`/api/qr/${code.id}`);
    const { result, calls } = await stage.change(
      updating,
      'QrCode { name link scans date statistics { clicks } }',
    );
    expect(result).toMatchObject({ name: details['name'], link: details['link'] });
    expect(calls).toEqual([`PUT /api/qr/${code.id}/update`, `GET /api/qr/${code.id}`]);
  });

  it('shows in every place where the code is, and only there', async () => {
    const elsewhere =
      '{ channel(id: "104") { items(first: 3) { totalCount } } campaigns { totalCount } }';
    await stage.world.data(elsewhere);
    await stage.world.data(everywhere);
    await stage.change(updating, 'QrCode { databaseId }');
    // As on an installation that names a code after what it says.
    stage.sandbox.links.fault({
      kind: 'answer',
      method: 'GET',
      rewrite: (answer) => ({ ...answer, body: renamed(answer.body) }),
    });
    const after = await stage.world.data<Everywhere>(everywhere);
    expect(after.qrCodes.nodes).toContainEqual({ databaseId: code.id, name: 'Closed today' });
    expect(after.qrCode).toMatchObject({ name: 'Closed today' });
    expect(after.channel.items.nodes).toContainEqual({
      databaseId: code.id,
      title: 'Closed today',
      qrCode: { name: 'Closed today' },
    });
    stage.world.forgetCalls();
    await stage.world.data(elsewhere);
    expect(stage.world.calls()).toEqual([]);
  });

  it('lists every fault of the input, and spends no call', async () => {
    const { result, calls } = await stage.change(
      `updateQrCode(input: {
        id: "0", data: { fields: { nothing: "" } }, background: "red", logo: "javascript:x.png"
      })`,
      'QrCode { databaseId }',
    );
    expect(calls).toEqual([]);
    expect(result.issues?.map(({ path }) => path.join('.'))).toEqual([
      'input.id',
      'input.data.fields',
      'input.background',
      'input.logo',
    ]);
  });

  it('is refused for a code that is not there', async () => {
    const absent = 'updateQrCode(input: { id: "99999", data: { value: "x" } })';
    const { result } = await stage.change(absent, 'QrCode { databaseId }');
    expect(result).toMatchObject({ __typename: 'Rejected', message: 'QR code does not exist' });
  });

  it.each(yeses({ message: 'QR code has been updated successfully.' }))(
    'understands a yes %s',
    async (_, body, status) => {
      stage.answer(`/api/qr/${code.id}/update`, body, status);
      const { result } = await stage.change(updating, 'QrCode { databaseId }');
      expect(result).toEqual({ __typename: 'QrCode', databaseId: code.id });
    },
  );

  it.each(noes)('understands a no by `error` %s', async (_, body, status, message) => {
    stage.answer(`/api/qr/${code.id}/update`, body, status);
    const { result } = await stage.change(updating, 'QrCode { databaseId }');
    expect(result).toEqual({ __typename: 'Rejected', message, upstream: 'LINKS' });
  });

  it.each([
    ['the connection breaks', { kind: 'drop', applied: true }],
    ['HTTP 500', { kind: 'error-500', applied: true }],
    ['HTML', { kind: 'html', applied: true }],
    ['an empty body', { kind: 'empty', applied: true }],
  ] as const)(
    'after %s, is not repeated, and nothing kept of the code is believed',
    async (_, fault) => {
      await stage.world.data(everywhere);
      stage.sandbox.links.fault({ ...fault, method: 'PUT' });
      const { errors, calls } = await stage.change(updating, 'QrCode { databaseId }');
      expect(errors[0]?.extensions).toMatchObject({
        code: 'OUTCOME_UNKNOWN',
        check: 'Query.qrCode',
      });
      expect(calls).toEqual([`PUT /api/qr/${code.id}/update`]);
      stage.world.forgetCalls();
      await stage.world.data(everywhere);
      expect(stage.world.calls()).toEqual(
        expect.arrayContaining([
          expect.stringMatching(/^GET \/api\/qr\?/),
          `GET /api/qr/${code.id}`,
          expect.stringMatching(new RegExp(`^GET /api/channel/${code.channel}\\?`)),
        ]),
      );
      expect(stage.written).toEqual([]);
    },
  );
});

describe('Mutation.deleteQrCode', () => {
  it('is one call, and the code is gone from everywhere', async () => {
    const { qrCode } = await stage.world.data<{ qrCode: { id: string } }>(
      `{ qrCode(id: "${code.id}") { id } }`,
    );
    const before = await stage.world.data<Everywhere>(everywhere);
    const { result, calls } = await stage.change(
      `deleteQrCode(id: "${qrCode.id}")`,
      'Deleted { deletedId databaseId }',
    );
    expect(result).toEqual({
      __typename: 'Deleted',
      deletedId: qrCode.id,
      databaseId: code.id,
    });
    expect(calls).toEqual([`DELETE /api/qr/${code.id}/delete`]);
    expect(stage.written).toEqual([{ method: 'DELETE', path: `/api/qr/${code.id}/delete` }]);

    const after = await stage.world.data<Everywhere & { node: unknown }>(
      everywhere.replace(/^\{/, `{ node(id: "${qrCode.id}") { id }`),
    );
    expect(after.node).toBeNull();
    expect(after.qrCode).toBeNull();
    expect(after.qrCodes.totalCount).toBe(before.qrCodes.totalCount - 1);
    expect(after.qrCodes.nodes.map(({ databaseId }) => databaseId)).not.toContain(code.id);
    expect(after.channel.items.totalCount).toBe(before.channel.items.totalCount - 1);
    const titles = after.channel.items.nodes.map(({ databaseId }) => databaseId);
    expect(titles).not.toContain(code.id);
  });

  it('finds a fault in an id of something else, and spends no call', async () => {
    const channel = Buffer.from('Channel:95').toString('base64url');
    const { result, calls } = await stage.change(
      `deleteQrCode(id: "${channel}")`,
      'Deleted { databaseId }',
    );
    expect(calls).toEqual([]);
    expect(result).toMatchObject({
      __typename: 'InvalidInput',
      issues: [{ path: ['id'], message: expect.stringContaining('QrCode') }],
    });
  });

  it('is refused the second time', async () => {
    await stage.change(deleting, 'Deleted { databaseId }');
    const { result } = await stage.change(deleting, 'Deleted { databaseId }');
    expect(result).toMatchObject({ __typename: 'Rejected', message: 'QR code does not exist' });
  });

  it.each(noes)('understands a no by `error` %s', async (_, body, status, message) => {
    stage.answer(`/api/qr/${code.id}/delete`, body, status);
    const { result } = await stage.change(deleting, 'Deleted { databaseId }');
    expect(result).toEqual({ __typename: 'Rejected', message, upstream: 'LINKS' });
  });

  behavesWhenDisturbed(stage, {
    mutation: deleting,
    typename: 'Deleted',
    wire: { method: 'DELETE', path: `/api/qr/${code.id}/delete` },
    check: 'Query.qrCode',
    look: `{ qrCode(id: "${code.id}") { name } }`,
    times: ({ qrCode }: Everywhere) => (qrCode === null ? 1 : 0),
  });
});

/** An answer with the code's name, or title, as `updating` has it. */
function renamed(body: unknown): unknown {
  return JSON.parse(JSON.stringify(body), (_, value: unknown) => {
    if (typeof value !== 'object' || value === null || !('id' in value)) return value;
    if (value.id !== code.id) return value;
    return { ...value, name: 'Closed today', title: 'Closed today' };
  });
}
