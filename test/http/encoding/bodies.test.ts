import { once } from 'node:events';
import {
  brotliDecompressSync,
  constants,
  createGunzip,
  gunzipSync,
  type InputType,
} from 'node:zlib';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Coding, codings } from '../../../src/http/encoding/codings.ts';
import { compress, compressed, keepCompressed } from '../../../src/http/encoding/compress.ts';
import { GzipPieces } from '../../../src/http/encoding/gzip-pieces.ts';

/** Node's own decoders, which refuse what is not in order to its last byte. */
const decoders: Readonly<Record<Coding, (bytes: InputType) => Buffer>> = {
  br: brotliDecompressSync,
  gzip: gunzipSync,
};

const bytes = (maxLength: number) =>
  fc.oneof(
    fc.uint8Array({ maxLength }).map((each) => Buffer.from(each)),
    // As alike as JSON is.
    fc
      .array(fc.constantFrom('{"name":"', 'Größe', '","id":', '12345', '}', '🙂'), { maxLength })
      .map((words) => Buffer.from(words.join(''))),
  );

describe.each([...codings])('A body in %s', (coding) => {
  it('is the same once it is decoded', () => {
    for (const length of [1, 5000, 70_000, 1_000_000]) {
      const plain = Buffer.from('A line of text. '.repeat(length / 16 + 1)).subarray(0, length);
      expect(decoders[coding](compress(plain, coding)).equals(plain)).toBe(true);
      const kept = keepCompressed(Buffer.from(plain));
      expect(decoders[coding](compressed(kept, coding)).equals(plain)).toBe(true);
      expect(compressed(kept, coding)).toBe(compressed(kept, coding));
    }
  });
});

describe('A body in pieces', () => {
  const shared = Buffer.from('event: state\ndata: {"of":"everybody"}\n\n'.repeat(20));
  const pieces = fc.array(fc.oneof(bytes(2000), fc.constant(shared)), { maxLength: 8 });

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
      { numRuns: 200 },
    );
  });

  it('may have a large piece', () => {
    const gzip = new GzipPieces();
    const large = Buffer.from('{"name":"A name that is often there"},'.repeat(100_000));
    const sent = Buffer.concat([gzip.piece(large), gzip.piece(Buffer.from('.')), gzip.end()]);
    expect(sent.length).toBeLessThan(large.length / 10);
    expect(gunzipSync(sent).equals(Buffer.concat([large, Buffer.from('.')]))).toBe(true);
  });

  it('is read by a decoder that is given it byte by byte', async () => {
    const gzip = new GzipPieces();
    const sent = Buffer.concat([gzip.piece(shared), gzip.piece(shared), gzip.end()]);
    const gunzip = createGunzip();
    let text = '';
    gunzip.setEncoding('utf8').on('data', (piece: string) => {
      text += piece;
    });
    for (const byte of sent) gunzip.write(Buffer.from([byte]));
    gunzip.end();
    await once(gunzip, 'end');
    expect(text).toBe(shared.toString().repeat(2));
  });

  it('compresses the same object once for all streams', () => {
    const [one, two] = [new GzipPieces(), new GzipPieces()];
    one.piece(Buffer.from('.'));
    two.piece(Buffer.from('.'));
    expect(one.piece(shared)).toBe(two.piece(shared));
  });
});
