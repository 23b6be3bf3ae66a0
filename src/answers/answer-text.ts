import type { Receipt } from '../upstream/receipt.ts';
import type { AnswerToRemember } from './remembered-answers.ts';

/** Where the age of an answer's oldest part stands on its receipt. */
const AGE = '"maxAgeMs":';

/**
 * The text of an answer before and behind its age; `null` for one that cannot be given again as it is,
 * because it took a call or a wait, is past its ttl, or is true of one moment only.
 */
export function cutAtAge(
  text: string,
  receipt: Receipt,
): Pick<AnswerToRemember, 'head' | 'tail'> | null {
  const { calls, saved, stale, waitedMs } = receipt.summary;
  if (calls + saved.coalesced + stale + waitedMs > 0 || receipt.passing) return null;
  const at = text.lastIndexOf(AGE) + AGE.length;
  const end = text.indexOf(',', at);
  return { head: latin1(text.slice(0, at)), tail: latin1(text.slice(end)) };
}

/** The UTF-8 bytes of a text, each as one character: so its length is what goes over the wire. */
function latin1(text: string): string {
  return Buffer.from(text).toString('latin1');
}
