import { constants, gunzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GzipPieces } from '../../../src/http/encoding/gzip-pieces.ts';

const bytes = (maxLength: number) =>
  fc.oneof(
    fc.uint8Array({ maxLength }).map((each) => Buffer.from(each)),
    // As alike as JSON is.
    fc
      .array(fc.constantFrom('{"name":"', 'Größe', '","id":', '12345', '}', '🙂'), { maxLength })
      .map((words) => Buffer.from(words.join(''))),
  );

describe('A body in pieces', () => {
  const shared = Buffer.from('event: state\ndata: {"of":"everybody"}\n\n'.repeat(20));
  const large = Buffer.from('{"name":"A name that is often there"},'.repeat(20_000));
  const pieces = fc.array(fc.oneof(bytes(2000), fc.constantFrom(shared, large)), { maxLength: 8 });

  it('can be read to the end of each piece as soon as that has come', () => {
    fc.assert(
      fc.property(pieces, (all) => {
        const gzip = new GzipPieces();
        let sent = Buffer.alloc(0);
        let plain = Buffer.alloc(0);
        for (const piece of all) {
          sent = Buffer.concat([sent, gzip.piece(piece)]);
          plain = Buffer.concat([plain, piece]);
          const read = gunzipSync(sent, { finishFlush: constants.Z_SYNC_FLUSH });
          expect(read.equals(plain)).toBe(true);
        }
        sent = Buffer.concat([sent, gzip.end()]);
        expect(gunzipSync(sent).equals(plain)).toBe(true);
      }),
      { numRuns: 50 },
    );
  });

  it('compresses a large object, and once for all streams', () => {
    const [one, two] = [new GzipPieces(), new GzipPieces()];
    one.piece(Buffer.from('.'));
    two.piece(Buffer.from('.'));
    const piece = one.piece(large);
    expect(piece.length).toBeLessThan(large.length / 10);
    expect(two.piece(large)).toBe(piece);
  });
});
