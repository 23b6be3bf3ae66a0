import { type Script, script } from '../script.ts';
import { budget } from './budget.ts';
import { claim } from './claim.ts';
import { ended, renew } from './ended.ts';
import { enter } from './enter.ts';
import { beat, goodbye, touched } from './replica.ts';

/** The scripts, each one command for Redis. What they take and answer is said where they are written. */
export const scripts: Readonly<
  Record<'beat' | 'claim' | 'ended' | 'renew' | 'touched' | 'goodbye', Script>
> = {
  beat: script('beat', enter + budget + beat),
  claim: script('claim', enter + budget + claim),
  ended: script('ended', enter + budget + ended),
  renew: script('renew', enter + budget + renew),
  touched: script('touched', enter + touched),
  goodbye: script('goodbye', enter + goodbye),
};
