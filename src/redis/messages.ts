import { jsonMembers } from '../storage/json-members.ts';

/** A request has ended: `kept` if its response is in Redis, `code` if it failed. */
export interface EndedMessage {
  readonly kind: 'ended';
  /** The name of the document that it is about; `x:` and a row that was unlocked. */
  readonly document: string;
  readonly key: string | null;
  readonly kept: boolean;
  readonly code: string | null;
  readonly by: string;
}

/** A record of a keyed write has changed. */
export interface RecordMessage {
  readonly kind: 'record';
  readonly name: string;
  /** See `RecordTexts`; empty if it was deleted, since nothing was sent. */
  readonly text: string;
  /** When it was written, on the clock that all replicas share. */
  readonly at: number;
  /** Whether it may be claimed. */
  readonly free: boolean;
  readonly by: string;
}

/** What replicas send each other over the channel. Any of it can be lost. */
type Message =
  /** Write number `n` has touched tags. */
  | { readonly kind: 'touch'; readonly epoch: string; readonly n: number; readonly tags: string[] }
  /** A replica has received all writes up to `n`. */
  | { readonly kind: 'ack'; readonly epoch: string; readonly by: string; readonly n: number }
  | RecordMessage
  | EndedMessage;

/** Reads a message; `null` for anything else. Never throws. */
export function readMessage(text: string): Message | null {
  const members = jsonMembers(text);
  const { at, by, code, document, epoch, free, key, kept, kind, n, name, tags, text: of } = members;
  const isNumbered = typeof epoch === 'string' && Number.isSafeInteger(n);
  if (kind === 'touch' && isNumbered && isTextsOrNone(tags)) {
    return { kind, epoch, n: Number(n), tags: isTexts(tags) ? tags : [] };
  }
  if (kind === 'ack' && isNumbered && typeof by === 'string') {
    return { kind, epoch, by, n: Number(n) };
  }
  if (kind === 'record' && typeof name === 'string' && typeof by === 'string') {
    return { kind, name, text: String(of), at: Number(at), free: free === true, by };
  }
  if (kind === 'ended' && typeof document === 'string' && typeof by === 'string') {
    const text = (value: unknown): string | null => (typeof value === 'string' ? value : null);
    return { kind, document, by, key: text(key), kept: kept === true, code: text(code) };
  }
  return null;
}

/** Whether a value is a list of texts. */
function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((member) => typeof member === 'string');
}

/** The scripts write an empty list as an empty object. */
function isTextsOrNone(value: unknown): boolean {
  return isTexts(value) || JSON.stringify(value) === '{}';
}

/** A list in the reply of a script; empty for anything else. */
export function listOf(reply: unknown): readonly unknown[] {
  return Array.isArray(reply) ? reply : [];
}

/** Pairs that come one after the other in a list. */
export function pairsIn(reply: unknown): (readonly [string, string])[] {
  const flat = listOf(reply).map(String);
  return flat.flatMap((each, at) => (at % 2 === 0 ? [[each, flat[at + 1] ?? ''] as const] : []));
}
