import { createHash } from 'node:crypto';
import { documents } from './documents.ts';
import { effects } from './effects.ts';
import { enter } from './enter.ts';
import { put, records, take } from './records.ts';
import { beat, goodbye, touched } from './replica.ts';
import { lock, rows, unlock } from './rows.ts';
import { discard, swap } from './swap.ts';
import { addUsage, usageOf } from './usage.ts';

/** A script: by its digest, and its text if Redis has not loaded it. */
export interface Script {
  /** What it is called in metrics. */
  readonly name: string;
  readonly sha1: string;
  readonly lua: string;
}

/** A script by its text. */
export function script(name: string, lua: string): Script {
  // Redis names scripts by this digest; nothing is kept secret by it.
  return { name, sha1: createHash('sha1').update(lua).digest('hex'), lua };
}

const begin = effects + enter + documents + records + rows;

/** The scripts, each one command for Redis. Their files describe arguments and replies. */
export const scripts: Readonly<
  Record<
    | 'beat'
    | 'swap'
    | 'discard'
    | 'touched'
    | 'goodbye'
    | 'take'
    | 'put'
    | 'lock'
    | 'unlock'
    | 'addUsage'
    | 'usageOf',
    Script
  >
> = {
  beat: script('beat', begin + beat),
  swap: script('swap', begin + swap),
  discard: script('discard', begin + discard),
  touched: script('touched', begin + touched),
  goodbye: script('goodbye', begin + goodbye),
  take: script('take', begin + take),
  put: script('put', begin + put),
  lock: script('lock', begin + lock),
  unlock: script('unlock', begin + unlock),
  addUsage: script('addUsage', addUsage),
  usageOf: script('usageOf', usageOf),
};
