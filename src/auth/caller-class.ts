import { isObject, jsonIn } from '../storage/json.ts';

/** What the operator grants a class of callers, under each API key. */
export interface CallerClass {
  /**
   * Its share of the slots while callers of several classes wait, relative to the other classes; 0 for the slots that
   * others leave, which its reads share with jobs.
   */
  readonly weight: number;
  /** Maximum number of upstream requests of all its callers per minute; `null` for no limit of its own. */
  readonly maxCallsPerMinute: number | null;
}

/** The classes of callers by name. A caller without a class, or with an unknown one, is in `DEFAULT_CLASS`. */
export type CallerClasses = ReadonlyMap<string, CallerClass>;

/** The class of callers for which no other is configured. */
export const DEFAULT_CLASS = 'default';

/** The class of all callers of `/mcp`. */
export const AGENT_CLASS = 'agent';

/** Maximum number of classes: each is a label of metrics. */
const MAX_CLASSES = 16;

/** The share of the lowest rate limit that `AGENT_CLASS` can use if it is not configured. */
const AGENT_SHARE = 1 / 3;

const unlimited: CallerClass = { weight: 1, maxCallsPerMinute: null };
const MAX_WEIGHT = 1000;
const MAX_CALLS = 1_000_000_000;

/** Whether a text can be the name of a class: it appears in logs, metrics and the graph. */
export function isClassName(name: unknown): name is string {
  return typeof name === 'string' && /^[a-z][a-z0-9-]{0,31}$/.test(name);
}

/** What a class is granted; the default for an unknown one. */
export function classRules(classes: CallerClasses | undefined, name: string): CallerClass {
  return classes?.get(name) ?? unlimited;
}

/**
 * The classes of an operator, and `AGENT_CLASS` if it is not among them: then its reads use only slots that others leave,
 * at most a third of `perMinute`, the requests per minute of the lowest rate limit.
 */
export function withAgents(classes: CallerClasses, perMinute: number): CallerClasses {
  if (classes.has(AGENT_CLASS)) return classes;
  const maxCallsPerMinute = Math.max(1, Math.floor(perMinute * AGENT_SHARE));
  return new Map([...classes, [AGENT_CLASS, { ...unlimited, weight: 0, maxCallsPerMinute }]]);
}

/**
 * Parses classes: `{"agent": {"weight": 1, "maxCallsPerMinute": 8}, …}`. All members are
 * optional.
 * @throws TypeError whose message says what is wrong and where.
 */
export function parseCallerClasses(text: string): CallerClasses {
  const content = jsonIn(text);
  if (content === undefined) throw new TypeError('is not JSON');
  if (!isObject(content)) throw new TypeError('is not a JSON object');
  const entries = Object.entries(content);
  if (entries.length > MAX_CLASSES) throw new TypeError(`has more than ${MAX_CLASSES} classes`);
  return new Map(entries.map(([name, rules]) => [checkedName(name), parseRules(name, rules)]));
}

function checkedName(name: string): string {
  const isName: boolean = isClassName(name);
  if (isName) return name;
  throw new TypeError(
    `has the class ${JSON.stringify(name.slice(0, 40))}, whose name is not 1 to 32 lower-case letters, digits or -, beginning with a letter`,
  );
}

function parseRules(name: string, rules: unknown): CallerClass {
  if (!isObject(rules)) throw new TypeError(`has the class ${name}, which is not an object`);
  for (const member of Object.keys(rules)) {
    if (!Object.hasOwn(unlimited, member)) {
      const known = Object.keys(unlimited).join(', ');
      throw new TypeError(
        `has an unknown member ${JSON.stringify(member.slice(0, 40))} in ${name}; known are ${known}`,
      );
    }
  }
  const { maxCallsPerMinute: perMinute = null, weight = unlimited.weight } = rules;
  if (!isWithin(weight, 0, MAX_WEIGHT) || (weight > 0 && weight < 1 / MAX_WEIGHT)) {
    throw new TypeError(`has a weight in ${name} that is neither 0 nor from 0.001 to 1000`);
  }
  if (perMinute === null) return { weight, maxCallsPerMinute: null };
  if (Number.isSafeInteger(perMinute) && isWithin(perMinute, 0, MAX_CALLS)) {
    return { weight, maxCallsPerMinute: perMinute };
  }
  throw new TypeError(
    `has a maxCallsPerMinute in ${name} that is not an integer from 0 to ${MAX_CALLS}`,
  );
}

function isWithin(value: unknown, least: number, most: number): value is number {
  return typeof value === 'number' && value >= least && value <= most;
}
