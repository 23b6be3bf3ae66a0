/** Far more than any secret has. */
export const MAX_SECRET_BYTES = 64 * 1024;

/** What no secret has: it is sent as it is, and a line break or a smart quote in it fails only at the first call. */
export const UNSENDABLE = 'a space, a line break or a non-ASCII character';

/** Whether a text can be sent as a secret. */
export function isSendable(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text);
}

/** The content of a file that holds a secret, without its trailing newline. */
export function withoutNewline(text: string): string {
  return text.replace(/[\r\n]+$/, '');
}

/**
 * The secret that a file holds.
 * @throws TypeError whose message says what is wrong; nothing of the secret is in it.
 */
export function secretIn(text: string): string {
  const secret = withoutNewline(text);
  if (secret.trim() === '') throw new TypeError('it is empty');
  if (!isSendable(secret)) throw new TypeError(`it contains ${UNSENDABLE}`);
  return secret;
}
