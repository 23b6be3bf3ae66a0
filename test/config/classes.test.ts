import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { faults } from './faults.ts';

const advice = 'Set it to JSON such as {"agent": {"weight": 1, "maxCallsPerMinute": 8}}.';
const classes = (text: string) => ({ CALLER_CLASSES: text });
const many = (count: number): string =>
  JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, n) => [`class-${n}`, {}])));

describe('CALLER_CLASSES', () => {
  it('has classes whose members are optional', () => {
    const text =
      '{"agent": {"weight": 0.5, "maxCallsPerMinute": 8}, "nightly": {"weight": 0}, "people": {}}';
    const none = { maxCallsPerMinute: null };
    expect([...loadConfig(classes(text)).callerClasses]).toEqual([
      ['agent', { weight: 0.5, maxCallsPerMinute: 8 }],
      ['nightly', { ...none, weight: 0 }],
      ['people', { ...none, weight: 1 }],
    ]);
    expect(loadConfig({}).callerClasses.size).toBe(0);
    expect(loadConfig(classes(' ')).callerClasses.size).toBe(0);
    expect(loadConfig(classes(many(16))).callerClasses.size).toBe(16);
  });

  const name = 'whose name is not 1 to 32 lower-case letters, digits or -, beginning with a letter';
  const members = 'known are weight, maxCallsPerMinute';
  const weight = 'has a weight in a that is neither 0 nor from 0.001 to 1000';
  const quota = (member: string) =>
    `has a ${member} in a that is not an integer from 0 to 1000000000`;
  it.each([
    ['agent', 'is not JSON'],
    ['{"a": {"weight": NaN}}', 'is not JSON'],
    ["{'a': {}}", 'is not JSON'],
    ['[]', 'is not a JSON object'],
    ['null', 'is not a JSON object'],
    ['"agent"', 'is not a JSON object'],
    [many(17), 'has more than 16 classes'],
    ['{"Agent": {}}', `has the class "Agent", ${name}`],
    ['{"": {}}', `has the class "", ${name}`],
    ['{"__proto__": {}}', `has the class "__proto__", ${name}`],
    ['{"(refresh)": {}}', `has the class "(refresh)", ${name}`],
    [`{"${'a'.repeat(33)}": {}}`, `has the class "${'a'.repeat(33)}", ${name}`],
    ['{"1": {}}', `has the class "1", ${name}`],
    [`{"${'A'.repeat(50)}": {}}`, `has the class "${'A'.repeat(40)}", ${name}`],
    ['{"a": 1}', 'has the class a, which is not an object'],
    ['{"a": null}', 'has the class a, which is not an object'],
    ['{"a": [1]}', 'has the class a, which is not an object'],
    ['{"a": {"wieght": 1}}', `has an unknown member "wieght" in a; ${members}`],
    ['{"a": {"constructor": 1}}', `has an unknown member "constructor" in a; ${members}`],
    ['{"a": {"__proto__": {}}}', `has an unknown member "__proto__" in a; ${members}`],
    ['{"a": {"weight": -1}}', weight],
    ['{"a": {"weight": 0.0001}}', weight],
    ['{"a": {"weight": 1001}}', weight],
    ['{"a": {"weight": 1e999}}', weight],
    ['{"a": {"weight": "1"}}', weight],
    ['{"a": {"weight": null}}', weight],
    ['{"a": {"maxCallsPerMinute": -1}}', quota('maxCallsPerMinute')],
    ['{"a": {"maxCallsPerMinute": 1.5}}', quota('maxCallsPerMinute')],
    ['{"a": {"maxCallsPerMinute": 4000000000}}', quota('maxCallsPerMinute')],
    ['{"a": {"maxCallsPerMinute": "8"}}', quota('maxCallsPerMinute')],
  ])('is refused: %s', (text, why) => {
    expect(faults(classes(text))).toEqual([`CALLER_CLASSES ${why}. ${advice}`]);
  });

  it('can have a class with the name of a member of every object', () => {
    const { callerClasses } = loadConfig(classes('{"constructor": {"maxCallsPerMinute": 5}}'));
    expect([...callerClasses.keys()]).toEqual(['constructor']);
  });

  it('can have the bounds of a weight, and null for no limit', () => {
    const text = '{"a": {"weight": 0.001, "maxCallsPerMinute": null}, "b": {"weight": 1000}}';
    const none = { maxCallsPerMinute: null };
    expect([...loadConfig(classes(text)).callerClasses.values()]).toEqual([
      { ...none, weight: 0.001 },
      { ...none, weight: 1000 },
    ]);
  });

  it('can have a quota of 0, and one above the limit of the API', () => {
    const text = '{"a": {"maxCallsPerMinute": 0}, "b": {"maxCallsPerMinute": 1000000000}}';
    expect(faults(classes(text))).toEqual([]);
  });
});

describe('The class of agents', () => {
  const agents = (env: Readonly<Record<string, string>>) => {
    const { links, market } = loadConfig(env);
    expect(market.classes).toEqual(links.classes);
    return links.classes.get('agent');
  };

  it.each<[links: number, linksMs: number, market: number, marketMs: number, most: number]>([
    [30, 60_000, 60, 60_000, 10],
    [60, 60_000, 30, 60_000, 10],
    [2, 60_000, 60, 60_000, 1],
    [32, 60_000, 60, 60_000, 10],
    [33, 60_000, 60, 60_000, 11],
    // The rate per minute.
    [30, 30_000, 60, 60_000, 20],
    [300, 600_000, 60, 60_000, 10],
  ])('has a third of the lowest limit: %i per %i ms, %i per %i ms', (...of) => {
    const [links, linksMs, market, marketMs, most] = of;
    const limits = {
      LINKS_RATE_LIMIT: String(links),
      LINKS_RATE_WINDOW_MS: String(linksMs),
      MARKET_RATE_LIMIT: String(market),
      MARKET_RATE_WINDOW_MS: String(marketMs),
    };
    expect(agents(limits)).toEqual({ weight: 0, maxCallsPerMinute: most });
  });

  it('is that of CALLER_CLASSES if it is named there, and is not shown as configured otherwise', () => {
    expect(agents(classes('{"agent": {}}'))).toEqual({
      weight: 1,
      maxCallsPerMinute: null,
    });
    const { callerClasses, links } = loadConfig(classes('{"people": {"weight": 3}}'));
    expect([...links.classes.keys()]).toEqual(['people', 'agent']);
    expect([...callerClasses.keys()]).toEqual(['people']);
    expect(loadConfig(classes(many(16))).links.classes.size).toBe(17);
  });
});

describe('AUTH_JWT_CLASS_CLAIM', () => {
  it('is for jwt', () => {
    expect(faults({ AUTH_JWT_CLASS_CLAIM: 'tier' })).toEqual([
      'AUTH_JWT_CLASS_CLAIM is set, but AUTH_MODE is not jwt. Set AUTH_MODE=jwt, or remove AUTH_JWT_CLASS_CLAIM.',
    ]);
  });
});
