import { type Script, script } from '../script.ts';
import { budget } from './budget.ts';
import { claim } from './claim.ts';
import { effects } from './effects.ts';
import { ended, renew } from './ended.ts';
import { enter } from './enter.ts';
import { beat, goodbye, touched } from './replica.ts';

const begin = effects + enter;

/** The scripts, each one command for Redis. What they take and answer is said where they are written. */
export const scripts: Readonly<
  Record<'beat' | 'claim' | 'ended' | 'renew' | 'touched' | 'goodbye', Script>
> = {
  beat: script('beat', begin + budget + beat),
  claim: script('claim', begin + budget + claim),
  ended: script('ended', begin + budget + ended),
  renew: script('renew', begin + budget + renew),
  touched: script('touched', begin + touched),
  goodbye: script('goodbye', begin + goodbye),
};
