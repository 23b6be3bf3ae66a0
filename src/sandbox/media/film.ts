import { type Answer, raw } from '../http/answer.ts';
import { spread } from '../links/store.ts';

const COLUMNS = 8; // macroblocks of 16 by 16 pixels
const ROWS = 6;
const WIDTH = COLUMNS * 16;
const HEIGHT = ROWS * 16;
const FRAMES = 16;
const FRAMES_A_SECOND = 8;

/**
 * A two-second MP4 of a disc that wanders over a colour; the same seed gives the same film.
 * The pictures are H.264 with uncompressed macroblocks (I_PCM): a video that every player shows, from
 * an encoder that fits into this file.
 */
export function showFilm(seed: string): Answer {
  const samples = Array.from({ length: FRAMES }, (_, frame) => {
    const unit = slice(seed, frame);
    const size = Buffer.alloc(4);
    size.writeUInt32BE(unit.length);
    return Buffer.concat([size, unit]);
  });
  return raw('video/mp4', mp4(samples));
}

/** Bits of H.264, most significant first, with its two variable-length codes. */
class Bits {
  #bytes: number[] = [];
  #count = 0;

  put(value: number, width: number): this {
    for (let bit = width - 1; bit >= 0; bit--) {
      if (this.#count % 8 === 0) this.#bytes.push(0);
      const last = this.#bytes.length - 1;
      const one = ((value >> bit) & 1) << (7 - (this.#count % 8));
      this.#bytes[last] = (this.#bytes[last] ?? 0) | one;
      this.#count += 1;
    }
    return this;
  }

  /** ue(v) of the standard; zero as se(v) looks the same. */
  ue(...values: number[]): this {
    for (const value of values) {
      const width = Math.floor(Math.log2(value + 1));
      this.put(0, width).put(value + 1, width + 1);
    }
    return this;
  }

  align(): this {
    while (this.#count % 8 !== 0) this.put(0, 1);
    return this;
  }

  /** Ends the unit, and guards byte runs that would look like a start code. */
  end(header: number): Buffer {
    this.put(1, 1).align();
    const out = [header];
    let zeros = 0;
    for (const byte of this.#bytes) {
      if (zeros === 2 && byte <= 3) {
        out.push(3);
        zeros = 0;
      }
      out.push(byte);
      zeros = byte === 0 ? zeros + 1 : 0;
    }
    return Buffer.from(out);
  }
}

/** Sequence parameters: baseline profile, level 2, no reference frames. */
function sequence(): Buffer {
  const bits = new Bits().put(66, 8).put(0xc0, 8).put(20, 8).ue(0, 0, 2, 0).put(0, 1);
  return bits
    .ue(COLUMNS - 1, ROWS - 1)
    .put(0b1100, 4)
    .end(0x67);
}

/** Picture parameters: CAVLC, and slices may switch deblocking off. */
function parameters(): Buffer {
  return new Bits().ue(0, 0).put(0, 2).ue(0, 0, 0).put(0, 3).ue(0, 0, 0).put(0b100, 3).end(0x68);
}

/** One frame, a key frame of its own. */
function slice(seed: string, frame: number): Buffer {
  // Two key frames in a row must differ in idr_pic_id, hence the parity.
  const bits = new Bits()
    .ue(0, 7, 0)
    .put(0, 4)
    .ue(frame % 2)
    .put(0, 2)
    .ue(0, 1);
  const look = paint(seed, frame);
  for (let block = 0; block < COLUMNS * ROWS; block++) {
    const left = (block % COLUMNS) * 16;
    const top = Math.floor(block / COLUMNS) * 16;
    bits.ue(25).align();
    for (let at = 0; at < 256; at++)
      bits.put(look(left + (at % 16), top + Math.floor(at / 16)).luma, 8);
    for (const plane of ['blue', 'red'] as const)
      for (let at = 0; at < 64; at++)
        bits.put(look(left + (at % 8) * 2, top + Math.floor(at / 8) * 2)[plane], 8);
  }
  return bits.end(0x65);
}

function paint(seed: string, frame: number) {
  const number = spread(seed);
  const angle = (2 * Math.PI * frame) / FRAMES + (number % 6);
  const x = WIDTH / 2 + Math.cos(angle) * WIDTH * 0.3;
  const y = HEIGHT / 2 + Math.sin(angle * 2) * HEIGHT * 0.25;
  const blue = 92 + (number % 72);
  const red = 92 + ((number >>> 8) % 72);
  return (left: number, top: number) =>
    Math.hypot(left - x, top - y) < 18
      ? { luma: 225, blue: 256 - blue, red: 256 - red }
      : { luma: 60 + top, blue, red };
}

const u16 = (...values: number[]) => values.flatMap((value) => [value >> 8, value & 255]);
const u32 = (...values: number[]) =>
  values.flatMap((value) => [...u16(value >>> 16), ...u16(value & 0xffff)]);
const zeros = (count: number) => Array.from({ length: count }, () => 0);
const MATRIX = u32(0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000);

function box(name: string, ...parts: (number[] | Buffer)[]): Buffer {
  const content = Buffer.concat(parts.map((part) => Buffer.from(part)));
  return Buffer.concat([Buffer.from(u32(content.length + 8)), Buffer.from(name), content]);
}

/** Puts the frames into a file: index first, so that a player can start at once. */
function mp4(samples: Buffer[]): Buffer {
  const start = box('ftyp', Buffer.from('isom'), u32(512), Buffer.from('isomavc1mp41'));
  // The index contains the offset of the frames, but its length does not depend on the offset.
  const place = start.length + index(samples, 0).length + 8;
  return Buffer.concat([start, index(samples, place), box('mdat', ...samples)]);
}

function index(samples: Buffer[], place: number): Buffer {
  const length = samples.length;
  const [sps, pps] = [sequence(), parameters()];
  const avcC = box(
    'avcC',
    [1, ...sps.subarray(1, 4), 0xff, 0xe1, ...u16(sps.length), ...sps],
    [1, ...u16(pps.length), ...pps],
  );
  const avc1 = box(
    'avc1',
    [...zeros(6), ...u16(1), ...zeros(16), ...u16(WIDTH, HEIGHT)],
    [...u32(0x480000, 0x480000, 0), ...u16(1), ...zeros(32), ...u16(24, 0xffff)],
    avcC,
  );
  const table = box(
    'stbl',
    box('stsd', u32(0, 1), avc1),
    box('stts', u32(0, 1, length, 1)),
    box('stsc', u32(0, 1, 1, length, 1)),
    box('stsz', u32(0, 0, length, ...samples.map((sample) => sample.length))),
    box('stco', u32(0, 1, place)),
  );
  const media = box(
    'minf',
    box('vmhd', u32(1, 0, 0)),
    box('dinf', box('dref', u32(0, 1), box('url ', u32(1)))),
    table,
  );
  const handler = box('hdlr', u32(0, 0), Buffer.from('vide'), zeros(12), Buffer.from('Film\0'));
  const times = u32(0, 0, 0, FRAMES_A_SECOND, length);
  const mdia = box('mdia', box('mdhd', times, u16(0x55c4, 0)), handler, media);
  const size = u32(WIDTH * 65_536, HEIGHT * 65_536);
  const tkhd = box('tkhd', u32(7, 0, 0, 1, 0, length), zeros(16), MATRIX, size);
  const mvhd = box('mvhd', times, u32(0x10000), u16(0x100, 0), zeros(8), MATRIX, zeros(24), u32(2));
  return box('moov', mvhd, box('trak', tkhd, mdia));
}
