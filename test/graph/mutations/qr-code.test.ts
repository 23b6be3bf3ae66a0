import { describe, expect, it } from 'vitest';
import type { Row } from '../../support/gateway.ts';
import { Stage } from './story.ts';

const stage = new Stage();

/** A code of the sandbox, a business card, and a channel that it stands in. */
const code = { id: 431, channel: 95 };

const door = '{ type: TEXT, data: { value: "Opening hours" }, name: "Door" }';
const creating = `createQrCode(input: ${door})`;
const updating = `updateQrCode(input: { id: "${code.id}", type: TEXT, data: { value: "Closed today" } })`;

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
});

describe('Mutation.updateQrCode', () => {
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

/** An answer with the code's name, or title, as `updating` has it. */
function renamed(body: unknown): unknown {
  return JSON.parse(JSON.stringify(body), (_, value: unknown) => {
    if (typeof value !== 'object' || value === null || !('id' in value)) return value;
    if (value.id !== code.id) return value;
    return { ...value, name: 'Closed today', title: 'Closed today' };
  });
}
