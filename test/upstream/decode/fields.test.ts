import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  entries,
  inner,
  nested,
  objects,
  parseList,
  texts,
  words,
} from '../../../src/upstream/decode/compound.ts';
import { openSingle } from '../../../src/upstream/decode/envelope.ts';
import {
  atLeast,
  choice,
  DecodeError,
  day,
  type Field,
  field,
  flag,
  integer,
  isEmpty,
  type JsonObject,
  link,
  number,
  openObject,
  readField,
  readRow,
  rowId,
  text,
  time,
} from '../../../src/upstream/decode/fields.ts';
import { formatTimestamp, parseTimestamp } from '../../../src/upstream/decode/timestamp.ts';
import { anyText } from '../../support/any-text.ts';

function read<T>(
  members: unknown,
  one: Field<T>,
  timeZone = 'UTC',
): { value: T; surprises: string[] } {
  const surprises: string[] = [];
  const context = { timeZone, surprise: (field: string) => surprises.push(field) };
  return { value: readField(one, openObject(members, 'things', context)), surprises };
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
  ])('decodes the entities of %j exactly once', (escaped, expected) => {
    expect(read({ name: escaped }, text('name'))).toEqual(quiet(expected));
  });

  test('takes a number as its digits', () => {
    expect(read({ version: 2.1 }, text('version'))).toEqual(quiet('2.1'));
  });

  test('uses the first of several keys that holds something readable', () => {
    expect(
      read({ name: null, campaign: [], domain: 'x' }, text('name', 'campaign', 'domain')),
    ).toEqual(quiet('x'));
  });

  test('is null when absent or null, and a surprise only when malformed', () => {
    expect(read({}, text('name'))).toEqual(quiet(null));
    expect(read({ name: null }, text('name'))).toEqual(quiet(null));
    expect(read({ name: { a: 1 } }, text('name'))).toEqual(surprised('name'));
  });

  test('reads `false` and blank as no link', () => {
    expect(read({ a: false }, link('a'))).toEqual(quiet(null));
    expect(read({ a: '' }, link('a'))).toEqual(quiet(null));
    expect(read({ a: true }, link('a'))).toEqual(surprised('a'));
  });
});

describe('numbers and flags', () => {
  test.each([
    [7, 7],
    ['7', 7],
    [' 7 ', 7],
    ['-1', -1],
    ['7.0', 7],
    ['1,234', 1234],
    ['', null],
  ])('reads %j as an integer', (raw, expected) => {
    expect(read({ n: raw }, integer('n'))).toEqual(quiet(expected));
  });

  test.each([['7a'], [7.5], ['0x10'], ['Infinity'], [true], [[]], [{}], [2 ** 60]])(
    'reads %j as no integer, and says so',
    (raw) => {
      expect(read({ n: raw }, integer('n'))).toEqual(surprised('n'));
    },
  );

  test('reads prices as numbers or numeric text', () => {
    expect(read({ n: '9.99' }, number('n'))).toEqual(quiet(9.99));
    expect(read({ n: 9.99 }, number('n'))).toEqual(quiet(9.99));
    expect(read({ n: '9'.repeat(400) }, number('n'))).toEqual(surprised('n'));
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
    expect(read({ f: raw }, flag('f'))).toEqual(quiet(expected));
  });

  test('reads any other value as no flag', () => {
    expect(read({ f: 2 }, flag('f'))).toEqual(surprised('f'));
    expect(read({ f: 'maybe' }, flag('f'))).toEqual(surprised('f'));
  });

  test('reads a choice whatever its case, and no inherited name', () => {
    const status = { free: 'FREE', pro: 'PRO' } as const;
    expect(read({ s: 'Pro' }, choice(status, 's'))).toEqual(quiet('PRO'));
    expect(read({ s: 'constructor' }, choice(status, 's'))).toEqual(surprised('s'));
  });
});

describe('time', () => {
  const moment = (value: unknown, zone?: string) => read({ t: value }, time('t'), zone);

  test.each([
    ['2026-01-31 09:30:00', 'UTC', '2026-01-31T09:30:00Z'],
    ['2026-01-31 09:30:00', 'Europe/Berlin', '2026-01-31T08:30:00Z'],
    ['2026-07-31 09:30:00', 'Europe/Berlin', '2026-07-31T07:30:00Z'],
    ['2026-01-31 09:30:00', 'Asia/Kathmandu', '2026-01-31T03:45:00Z'],
    ['2026-01-31 00:30:00', 'America/New_York', '2026-01-31T05:30:00Z'],
    ['2026-01-31', 'Europe/Berlin', '2026-01-30T23:00:00Z'],
  ])('reads %s in %s as %s', (text, zone, expected) => {
    expect(moment(text, zone)).toEqual(quiet(expected));
  });

  test('takes the first of an hour that happens twice', () => {
    expect(moment('2026-10-25 02:30:00', 'Europe/Berlin')).toEqual(quiet('2026-10-25T00:30:00Z'));
    expect(moment('2026-11-01 01:30:00', 'America/New_York')).toEqual(
      quiet('2026-11-01T05:30:00Z'),
    );
  });

  test('moves a time inside a skipped hour, or a skipped day, forward', () => {
    expect(moment('2026-03-29 02:30:00', 'Europe/Berlin')).toEqual(quiet('2026-03-29T01:30:00Z'));
    expect(moment('2011-12-30 12:00:00', 'Pacific/Apia')).toEqual(quiet('2011-12-30T22:00:00Z'));
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
    expect(moment(text, 'Asia/Tokyo')).toEqual(quiet('2026-01-31T09:30:00Z'));
  });

  test('reads every count of fraction digits from 0 to 9', () => {
    for (let digits = 1; digits <= 9; digits += 1) {
      expect(moment(`2026-01-31T09:30:00.${'1'.repeat(digits)}Z`).value).toBe(
        '2026-01-31T09:30:00Z',
      );
    }
  });

  test.each(['0000-00-00 00:00:00', '0000-00-00', '-0001-11-30 00:00:00', '', null])(
    'reads %j as no date',
    (text) => {
      expect(moment(text)).toEqual(quiet(null));
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
    expect(moment(text)).toEqual(surprised('t'));
  });

  test('reads a day as it is written', () => {
    const dayOf = (value: string) => read({ d: value }, day('d'), 'Asia/Tokyo');
    expect(dayOf('2026-01-31')).toEqual(quiet('2026-01-31'));
    expect(dayOf('2026-01-31 23:30:00')).toEqual(quiet('2026-01-31'));
    expect(dayOf('0000-00-00')).toEqual(quiet(null));
    expect(dayOf('2026-13-01')).toEqual(surprised('d'));
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
    expect(read({ m: [] }, inner('m', isEmpty))).toEqual(quiet(true));
    expect(read({ m: [] }, pairs('m'))).toEqual(quiet([]));
    expect(read({ m: [1] }, inner('m', isEmpty))).toEqual(surprised('m'));
  });

  test('names the whole path of a member inside a member', () => {
    const { surprises } = read({ m: { n: 'x' } }, nested('m', { n: integer('n') }));
    expect(surprises).toEqual(['things.m.n']);
  });

  test('reads a list from an array, an object, or a blank scalar', () => {
    expect(read({ l: [1] }, field(['l'], parseList))).toEqual(quiet([1]));
    expect(read({ l: { 3: 'a', 5: 'b' } }, field(['l'], parseList))).toEqual(quiet(['a', 'b']));
    expect(read({ l: 0 }, field(['l'], parseList))).toEqual(quiet([]));
    expect(read({ l: 5 }, field(['l'], parseList))).toEqual(surprised('l'));
  });

  test('splits a lone text at commas only where that is its habit', () => {
    expect(read({ l: 'a, b&amp;c,' }, words('l'))).toEqual(quiet(['a', 'b&c']));
    expect(read({ l: 'a, b' }, texts('l'))).toEqual(quiet(['a, b']));
  });

  test('leaves unreadable elements of a list out, and says so', () => {
    expect(read({ l: ['a', null, {}, ''] }, texts('l'))).toEqual({
      value: ['a'],
      surprises: ['things.l'],
    });
  });
});

describe('errors', () => {
  test('names path and expected kind when a row has no usable id', () => {
    for (const id of [undefined, null, 'x', -1, {}]) {
      const attempt = () => read({ id }, rowId);
      expect(attempt).toThrow(DecodeError);
      expect(attempt).toThrow('things.id: expected an integer');
    }
  });

  test('refuses to open what is no object', () => {
    expect(() => read('text', text('a'))).toThrow('things: expected an object');
  });

  test('never throws anything but a DecodeError, for any JSON', () => {
    const context = { timeZone: 'Europe/Berlin', surprise: () => undefined };
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom('a', 'id', 'data'), (value, key) => {
        const rowFields = Object.fromEntries(fieldsOf(key).map((each, n) => [n, each]));
        try {
          const single = openSingle({ [key]: value }, ['data'], 'things', context);
          const whole = openObject({ [key]: value }, 'things', context);
          for (const object of [single ?? whole, whole]) {
            readRow(rowFields, object);
          }
        } catch (error) {
          expect(error).toBeInstanceOf(DecodeError);
        }
      }),
    );
  });

  test('survives any text where text is read', () => {
    fc.assert(
      fc.property(anyText(), (any) => {
        const value = `&#${any};&#x110000;&${any}`;
        expect(typeof read({ t: value }, text('t')).value).toBe('string');
        read({ t: any }, time('t'));
      }),
    );
  });
});

/** A field of each kind. */
function fieldsOf(key: string): readonly Field<unknown>[] {
  const scalars = [text, link, integer, number, flag, time, day].map((kind) => kind(key, 'id'));
  const all = (object: JsonObject) => readField(texts(key), object);
  const compounds = [texts(key), words(key), pairs(key), objects(key, all), inner(key, all)];
  const fields = { [key]: text(key) };
  return [...scalars, ...compounds, atLeast(1, key), choice({ a: 'A' }, key), nested(key, fields)];
}

/** The members of an object as they are. */
function pairs(key: string): Field<readonly unknown[]> {
  return entries(key, (...pair) => pair);
}

/** What a clock in `zone` shows, made by other means than the code under test uses. */
function localTime(epochMs: number, zone: string): string {
  return new Date(epochMs).toLocaleString('sv-SE', { timeZone: zone });
}
