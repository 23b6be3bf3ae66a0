import { once } from 'node:events';
import * as zlib from 'node:zlib';
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
import { compress, compressLarge } from '../../../src/http/encoding/compress.ts';
import { GzipPieces } from '../../../src/http/encoding/gzip-pieces.ts';
import { SplicedBody } from '../../../src/http/encoding/spliced-body.ts';

/** Node's own decoders, which refuse what is not in order to its last byte. */
const decoders: Readonly<Record<Coding, (bytes: InputType) => Buffer>> = {
  br: brotliDecompressSync,
  gzip: gunzipSync,
  zstd: (zlib as unknown as { zstdDecompressSync: typeof gunzipSync }).zstdDecompressSync,
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
  it('is read as its head and any rest that follows on it', () => {
    const rests = fc.array(
      bytes(300).filter(({ length }) => length > 0),
      { minLength: 1, maxLength: 4 },
    );
    const heads = bytes(20_000).filter(({ length }) => length > 0);
    fc.assert(
      fc.property(heads, rests, (head, ends) => {
        const body = new SplicedBody(head.toString('latin1'));
        for (const end of ends) {
          const encoded = body.encoded(coding, end.toString('latin1'));
          const read = decoders[coding](Buffer.from(encoded, 'latin1'));
          expect(read.equals(Buffer.concat([head, end]))).toBe(true);
        }
      }),
      { numRuns: 200 },
    );
  });

  it.each([1, 65_535, 65_536, 300_000, 3_000_000])('may have a head of %d bytes', (length) => {
    const head = 'A line of text. '.repeat(Math.ceil(length / 16)).slice(0, length);
    const body = new SplicedBody(head);
    for (const rest of ['0', '12345,"waitedMs":0}}}', 'x'.repeat(32 * 1024)]) {
      const encoded = Buffer.from(body.encoded(coding, rest), 'latin1');
      expect(decoders[coding](encoded).toString('latin1') === head + rest).toBe(true);
    }
    expect(() => body.encoded(coding, 'x'.repeat(32 * 1024 + 1))).toThrow(RangeError);
    expect(() => body.encoded(coding, '')).toThrow(RangeError);
    expect(() => new SplicedBody('')).toThrow(RangeError);
  });

  it('weighs what it takes, and nothing once it is forgotten', () => {
    const body = new SplicedBody('A line of text. '.repeat(1000));
    expect(body.weight).toBe(0);
    const { length } = body.encoded(coding, '1');
    expect(body.weight).toBeGreaterThan(length - 40);
    body.forget(coding);
    expect([body.weight, body.has(coding)]).toEqual([0, false]);
  });

  it('is the same, on this thread or another, once or to be kept', async () => {
    for (const length of [1, 5000, 70_000, 1_000_000]) {
      const plain = Buffer.from('A line of text. '.repeat(length / 16 + 1)).subarray(0, length);
      expect(decoders[coding](compress(plain, coding, 'once')).equals(plain)).toBe(true);
      expect(decoders[coding](compress(plain, coding, 'kept')).equals(plain)).toBe(true);
      const many = await Promise.all(
        Array.from(
          { length: 6 },
          () => new Promise<Buffer | null>((done) => compressLarge(plain, coding, done)),
        ),
      );
      for (const each of many) expect(each && decoders[coding](each).equals(plain)).toBe(true);
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
