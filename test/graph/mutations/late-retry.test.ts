import { expect, it } from 'vitest';
import { type Field, KeyedStage } from './keyed-stage.ts';

const stage = new KeyedStage();
/** More rows than a page has. */
const OTHERS = 101;

const creations: readonly [mutation: Field, path: string, other: (n: number) => object][] = [
  [
    {
      field: 'createPixel(input: { name: "Tunnel", type: GA, tag: "G-1" })',
      typename: 'Pixel',
    },
    '/api/pixel/add',
    (n) => ({ name: `Other ${n}`, type: 'gapixel', tag: `G-${n}` }),
  ],
  [
    {
      field: 'createQrCode(input: { name: "Tunnel", type: TEXT, data: { value: "x" } })',
      typename: 'QrCode',
    },
    '/api/qr/add',
    (n) => ({ name: `Other ${n}`, type: 'text', data: 'y' }),
  ],
  [
    { field: 'uploadFile(input: { file: $file, name: "Tunnel" })', typename: 'File' },
    '/api/files/upload/other.txt',
    (n) => ({ n }),
  ],
];

it.each(creations)(
  'a creation whose response was lost is not made twice, when others have made 101 rows: %o',
  async (mutation, path, other) => {
    stage.world.forgetCalls();
    stage.world.sandbox.links.fault({ kind: 'drop', applied: true, method: 'POST', times: 1 });
    const sent = stage.send(mutation);
    await stage.met();
    for (let n = 0; n < OTHERS; n += 1) await stage.createElsewhere(path, other(n));
    const lost = await sent;
    const again = await stage.send(mutation);
    expect(stage.world.calls().filter((call) => call.startsWith('POST'))).toHaveLength(1);
    for (const { data, errors } of [lost, again]) {
      if (errors) expect(errors).toMatchObject([{ extensions: { code: 'OUTCOME_UNKNOWN' } }]);
      else expect(data?.result['databaseId']).toEqual(expect.any(Number));
    }
  },
);
