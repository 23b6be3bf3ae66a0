import { type Script, script } from '../script.ts';
import { documents } from './documents.ts';
import { effects } from './effects.ts';
import { enter } from './enter.ts';
import { beat, goodbye, touched } from './replica.ts';
import { discard, swap } from './swap.ts';

const begin = effects + enter + documents;

/** The scripts, each one command for Redis. What they take and answer is said where they are written. */
export const scripts: Readonly<
  Record<'beat' | 'swap' | 'discard' | 'touched' | 'goodbye', Script>
> = {
  beat: script('beat', begin + beat),
  swap: script('swap', begin + swap),
  discard: script('discard', begin + discard),
  touched: script('touched', begin + touched),
  goodbye: script('goodbye', begin + goodbye),
};
