import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  DecodeError,
  type RowReader,
  readRow,
  readSingle,
} from '../../../src/upstream/decode/row-reader.ts';
import { formatTimestamp, parseTimestamp } from '../../../src/upstream/decode/timestamp.ts';

function read<T>(
  members: unknown,
  use: (row: RowReader) => T,
  timeZone = 'UTC',
): { value: T; surprises: string[] } {
  const surprises: string[] = [];
  const context = { timeZone, surprise: (field: string) => surprises.push(field) };
  return { value: use(readRow(members, 'things', context)), surprises };
}

const quiet = (value: unknown) => ({ value, surprises: [] });
const surprised = (member: string) => ({ value: null, surprises: [`things.${member}`] });

describe('text', () => {
  test.each([
    ['Tom &amp; Jerry', 'Tom & Jerry'],
    ['it&#039;s', "it's"],
    ['&amp;lt;b&amp;gt;', '&lt;b&gt;'],
    ['https://a.example/?x=1&copy=2', 'https://a.example/?x=1&copy=2'],
    ['', ''],
    ['🧭 é', '🧭 é'],
  ])('decodes the entities of %j exactly once', (text, expected) => {
    expect(read({ name: text }, (row) => row.text('name'))).toEqual(quiet(expected));
  });

  test('takes a number as its digits', () => {
    expect(read({ version: 2.1 }, (row) => row.text('version'))).toEqual(quiet('2.1'));
  });

  test('uses the first of several keys that holds something readable', () => {
    expect(
      read({ name: null, campaign: [], domain: 'x' }, (row) =>
        row.text('name', 'campaign', 'domain'),
      ),
    ).toEqual(quiet('x'));
  });

  test('is null when absent or null, and a surprise only when malformed', () => {
    expect(read({}, (row) => row.text('name'))).toEqual(quiet(null));
    expect(read({ name: null }, (row) => row.text('name'))).toEqual(quiet(null));
    expect(read({ name: { a: 1 } }, (row) => row.text('name'))).toEqual(surprised('name'));
  });

  test('reads `false` and blank as no link', () => {
    expect(read({ a: false }, (row) => row.link('a'))).toEqual(quiet(null));
    expect(read({ a: '' }, (row) => row.link('a'))).toEqual(quiet(null));
    expect(read({ a: true }, (row) => row.link('a'))).toEqual(surprised('a'));
  });
});

describe('numbers and flags', () => {
  test.each([
    [7, 7],
    ['7', 7],
    [' 7 ', 7],
    ['-1', -1],
    ['7.0', 7],
    ['', null],
  ])('reads %j as an integer', (raw, expected) => {
    expect(read({ n: raw }, (row) => row.integer('n'))).toEqual(quiet(expected));
  });

  test.each([['7a'], [7.5], ['0x10'], ['Infinity'], [true], [[]], [{}], [2 ** 60], ['1,234']])(
    'reads %j as no integer, and says so',
    (raw) => {
      expect(read({ n: raw }, (row) => row.integer('n'))).toEqual(surprised('n'));
    },
  );

  test('reads prices as numbers or numeric text', () => {
    expect(read({ n: '9.99' }, (row) => row.number('n'))).toEqual(quiet(9.99));
    expect(read({ n: 9.99 }, (row) => row.number('n'))).toEqual(quiet(9.99));
    expect(read({ n: '9'.repeat(400) }, (row) => row.number('n'))).toEqual(surprised('n'));
  });

  test.each([
    [true, true],
    [1, true],
    ['1', true],
    ['True', true],
    [false, false],
    [0, false],
    ['0', false],
    ['false', false],
    ['', null],
  ])('reads %j as the flag %j', (raw, expected) => {
    expect(read({ f: raw }, (row) => row.flag('f'))).toEqual(quiet(expected));
  });

  test('reads any other value as no flag', () => {
    expect(read({ f: 2 }, (row) => row.flag('f'))).toEqual(surprised('f'));
    expect(read({ f: 'maybe' }, (row) => row.flag('f'))).toEqual(surprised('f'));
  });

  test('reads a choice whatever its case, and no inherited name', () => {
    const status = { free: 'FREE', pro: 'PRO' } as const;
    expect(read({ s: 'Pro' }, (row) => row.choice(status, 's'))).toEqual(quiet('PRO'));
    expect(read({ s: 'constructor' }, (row) => row.choice(status, 's'))).toEqual(surprised('s'));
  });
});

describe('time', () => {
  const time = (text: unknown, zone?: string) => read({ t: text }, (row) => row.time('t'), zone);

  test.each([
    ['2026-01-31 09:30:00', 'UTC', '2026-01-31T09:30:00Z'],
    ['2026-01-31 09:30:00', 'Europe/Berlin', '2026-01-31T08:30:00Z'],
    ['2026-07-31 09:30:00', 'Europe/Berlin', '2026-07-31T07:30:00Z'],
    ['2026-01-31 09:30:00', 'Asia/Kathmandu', '2026-01-31T03:45:00Z'],
    ['2026-01-31 00:30:00', 'America/New_York', '2026-01-31T05:30:00Z'],
    ['2026-01-31', 'Europe/Berlin', '2026-01-30T23:00:00Z'],
  ])('reads %s in %s as %s', (text, zone, expected) => {
    expect(time(text, zone)).toEqual(quiet(expected));
  });

  test('takes the first of an hour that happens twice', () => {
    expect(time('2026-10-25 02:30:00', 'Europe/Berlin')).toEqual(quiet('2026-10-25T00:30:00Z'));
    expect(time('2026-11-01 01:30:00', 'America/New_York')).toEqual(quiet('2026-11-01T05:30:00Z'));
  });

  test('moves a time inside a skipped hour, or a skipped day, forward', () => {
    expect(time('2026-03-29 02:30:00', 'Europe/Berlin')).toEqual(quiet('2026-03-29T01:30:00Z'));
    expect(time('2011-12-30 12:00:00', 'Pacific/Apia')).toEqual(quiet('2011-12-30T22:00:00Z'));
  });

  test.each([
    ['2026-01-31T09:30:00Z'],
    ['2026-01-31T09:30:00.000000Z'],
    ['2026-01-31T09:30:00.9Z'],
    ['2026-01-31T09:30:00.123456789Z'],
    ['2026-01-31T10:30:00+01:00'],
    ['2026-01-31T04:30:00.5-0500'],
    ['2026-01-31 09:30:00 UTC'],
  ])('reads %s to the second, whatever the zone of the upstream', (text) => {
    expect(time(text, 'Asia/Tokyo')).toEqual(quiet('2026-01-31T09:30:00Z'));
  });

  test('reads every count of fraction digits from 0 to 9', () => {
    for (let digits = 1; digits <= 9; digits += 1) {
      expect(time(`2026-01-31T09:30:00.${'1'.repeat(digits)}Z`).value).toBe('2026-01-31T09:30:00Z');
    }
  });

  test.each(['0000-00-00 00:00:00', '0000-00-00', '-0001-11-30 00:00:00', '', null])(
    'reads %j as no date',
    (text) => {
      expect(time(text)).toEqual(quiet(null));
    },
  );

  test.each([
    '2026-02-30 00:00:00',
    '2026-01-01 24:00:00',
    'tomorrow',
    '31/01/2026',
    1769851800,
    {},
  ])('reads %j as malformed', (text) => {
    expect(time(text)).toEqual(surprised('t'));
  });

  test('reads a day as it is written', () => {
    const day = (text: string) => read({ d: text }, (row) => row.day('d'), 'Asia/Tokyo');
    expect(day('2026-01-31')).toEqual(quiet('2026-01-31'));
    expect(day('2026-01-31 23:30:00')).toEqual(quiet('2026-01-31'));
    expect(day('0000-00-00')).toEqual(quiet(null));
    expect(day('2026-13-01')).toEqual(surprised('d'));
  });

  test('finds back every moment from its local time, but for the repeated hour', () => {
    const zones = [
      'UTC',
      'Europe/Berlin',
      'America/New_York',
      'Australia/Lord_Howe',
      'Asia/Kolkata',
    ];
    const seconds = fc.integer({ min: 0, max: Date.UTC(2037, 0) / 1000 });
    fc.assert(
      fc.property(seconds, fc.constantFrom(...zones), (second, zone) => {
        const local = localTime(second * 1000, zone);
        const found = parseTimestamp(local, zone);
        expect(found).not.toBeNull();
        // Of two moments with one local time the first is found: both read alike on a clock there.
        expect(localTime(found ?? 0, zone)).toBe(local);
        expect(found).toBeLessThanOrEqual(second * 1000);
      }),
    );
  });

  test('reads its own spelling back', () => {
    fc.assert(
      fc.property(fc.integer({ min: -30_000_000_000, max: 250_000_000_000 }), (second) => {
        const text = formatTimestamp(second * 1000);
        expect(parseTimestamp(text, 'Asia/Tokyo')).toBe(second * 1000);
      }),
    );
  });
});

describe('maps and lists', () => {
  test('reads an empty list as an empty object', () => {
    expect(read({ m: [] }, (row) => row.map('m')?.empty)).toEqual(quiet(true));
    expect(read({ m: [] }, (row) => row.entries('m'))).toEqual(quiet([]));
    expect(read({ m: [1] }, (row) => row.map('m'))).toEqual(surprised('m'));
  });

  test('names the whole path of a member inside a member', () => {
    const { surprises } = read({ m: { n: 'x' } }, (row) => row.map('m')?.integer('n'));
    expect(surprises).toEqual(['things.m.n']);
  });

  test('reads a list from an array, an object, or a blank scalar', () => {
    expect(read({ l: [1] }, (row) => row.list('l'))).toEqual(quiet([1]));
    expect(read({ l: { 3: 'a', 5: 'b' } }, (row) => row.list('l'))).toEqual(quiet(['a', 'b']));
    expect(read({ l: 0 }, (row) => row.list('l'))).toEqual(quiet([]));
    expect(read({ l: 5 }, (row) => row.list('l'))).toEqual(surprised('l'));
  });

  test('splits a lone text at commas only where that is its habit', () => {
    expect(read({ l: 'a, b&amp;c,' }, (row) => row.words('l'))).toEqual(quiet(['a', 'b&c']));
    expect(read({ l: 'a, b' }, (row) => row.texts('l'))).toEqual(quiet(['a, b']));
  });

  test('leaves unreadable elements of a list out, and says so', () => {
    expect(read({ l: ['a', null, {}, ''] }, (row) => row.texts('l'))).toEqual({
      value: ['a'],
      surprises: ['things.l'],
    });
  });
});

describe('errors', () => {
  test('names path and expected kind when a row has no usable id', () => {
    for (const id of [undefined, null, 'x', -1, {}]) {
      const attempt = () => read({ id }, (row) => row.id());
      expect(attempt).toThrow(DecodeError);
      expect(attempt).toThrow('things.id: expected an integer');
    }
  });

  test('refuses to open what is no object', () => {
    expect(() => read('text', (row) => row.empty)).toThrow('things: expected an object');
  });

  test('never throws anything but a DecodeError, for any JSON', () => {
    const context = { timeZone: 'Europe/Berlin', surprise: () => undefined };
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom('a', 'id', 'data'), (value, key) => {
        try {
          const row = readSingle({ [key]: value }, ['data'], 'things', context) ?? undefined;
          const nested = readRow({ [key]: value }, 'things', context);
          for (const reader of [row, nested]) {
            reader?.text(key);
            reader?.link(key);
            reader?.integer(key);
            reader?.number(key);
            reader?.flag(key);
            reader?.time(key);
            reader?.day(key);
            reader?.choice({ a: 'A' }, key);
            reader?.map(key);
            reader?.list(key);
            reader?.entries(key);
            reader?.textEntries(key);
            reader?.rows(key);
            reader?.texts(key);
            reader?.words(key);
            reader?.id();
          }
        } catch (error) {
          expect(error).toBeInstanceOf(DecodeError);
        }
      }),
    );
  });

  test('survives any text where text is read', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const value = `&#${text};&#x110000;&${text}`;
        expect(typeof read({ t: value }, (row) => row.text('t')).value).toBe('string');
        read({ t: text }, (row) => row.time('t'));
      }),
    );
  });
});

/** What a clock in `zone` shows, made by other means than the code under test uses. */
function localTime(epochMs: number, zone: string): string {
  return new Date(epochMs).toLocaleString('sv-SE', { timeZone: zone });
}
