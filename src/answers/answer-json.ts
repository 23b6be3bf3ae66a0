import { etagOfText } from '../http/door/headers/etag.ts';
import type { Receipt } from '../upstream/receipt.ts';
import type { RememberedAnswer } from './remembered-answers.ts';

/** Marks the age of the oldest data on a receipt. */
const AGE = '"maxAgeMs":';

/**
 * The response to an operation as JSON. The response body, its ETag and the remembered response use the same text:
 * each member is serialised once.
 */
export class AnswerJson {
  /** The text as `JSON.stringify` writes it. */
  readonly text: string;
  readonly #data: string;
  readonly #errors: string;
  #etag: string | undefined;

  constructor(answer: object) {
    const members = new Map<string, string>();
    for (const [name, value] of Object.entries(answer)) {
      const json = JSON.stringify(value) as string | undefined;
      if (json !== undefined) members.set(name, json);
    }
    this.text = `{${[...members].map(([name, json]) => `"${name}":${json}`).join()}}`;
    this.#data = members.get('data') ?? '';
    this.#errors = members.get('errors') ?? '';
  }

  /** The ETag of data and errors. It is weak, because the cost in the response may differ. */
  get etag(): string {
    // This JSON contains no line break.
    this.#etag ??= etagOfText(this.#data, '\n', this.#errors);
    return this.#etag;
  }
}

/**
 * The text of a response before and after its age; `null` if it cannot be repeated unchanged, because it cost a
 * request, a refresh or a wait, is past its ttl, or changes continuously.
 */
export function cutAtAge(
  text: string,
  receipt: Receipt,
): Pick<RememberedAnswer, 'head' | 'tail'> | null {
  const { calls, refreshes, saved, stale, waitedMs } = receipt.summary;
  if (calls + refreshes + saved.coalesced + stale + waitedMs > 0 || receipt.passing) return null;
  const at = text.lastIndexOf(AGE) + AGE.length;
  const end = text.indexOf(',', at);
  return { head: latin1(text.slice(0, at)), tail: latin1(text.slice(end)) };
}

/** The UTF-8 bytes of a text, each as one character, so that its length is the number of sent bytes. */
function latin1(text: string): string {
  return Buffer.from(text).toString('latin1');
}
