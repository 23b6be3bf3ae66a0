import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** The header by which a process that forwards a request says who sent it. */
const HEADER = 'x-gateway-sender';

/** The header by which an owner that stops leaves a forwarded request to the next one, if that can be sent again. */
export const HANDOVER = 'x-gateway-handover';

/** From where a request came, as the socket that it arrived on first had it. */
interface Sender {
  readonly address: string;
  /** Of HTTP: proxies are recognized by 1.0. */
  readonly version: string;
}

/** Those of forwarded requests that have proved it. */
const proved = new WeakMap<IncomingMessage, Sender>();

/** From where a request came. */
export function senderOf(request: IncomingMessage): Sender {
  const { httpVersion: version, socket } = request;
  return proved.get(request) ?? { address: socket.remoteAddress ?? '', version };
}

/**
 * The header with which a request is forwarded, as name and value. Only who knows the secret of the owner can make it,
 * which is another one for each owner.
 */
export function signSender(
  request: IncomingMessage,
  secret: string,
): [name: string, value: string] {
  const { address, version } = senderOf(request);
  const text = `${version} ${address}`;
  return [HEADER, `${macOf(text, secret)} ${text}`];
}

/** Whether another process has forwarded a request. */
export function isForwarded(request: IncomingMessage): boolean {
  return proved.has(request);
}

/** Whether a request says who sent it. Requests of callers must not. */
export function namesSender({ headers }: IncomingMessage): boolean {
  return headers[HEADER] !== undefined;
}

/**
 * Reads who sent a forwarded request, and removes the header: later steps recognize proxies by such names. Returns false,
 * and believes nothing, if it was not made with this secret; `null` is that of a process to which nothing is forwarded.
 */
export function proveSender(request: IncomingMessage, secret: string | null): boolean {
  const [, mac = '', version = '', address = ''] =
    /^(\S+) (\S+) (\S*)$/.exec(String(request.headers[HEADER])) ?? [];
  if (secret === null || !isEqual(mac, macOf(`${version} ${address}`, secret))) return false;
  delete request.headers[HEADER];
  proved.set(request, { address, version });
  return true;
}

function macOf(text: string, secret: string): string {
  return createHmac('sha256', secret).update(text).digest('base64url');
}

function isEqual(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
}
