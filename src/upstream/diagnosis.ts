import { type UpstreamName, upstreamTitle } from '../errors.ts';
import type { Clock } from '../scheduling/clock.ts';
import type { RawAnswer } from './request.ts';
import type { Witness, Witnessed } from './wire/exchange.ts';
import { type Failure, systemCode } from './wire/failure.ts';
import { rejectedKey } from './wire/key-authorization.ts';
import { WireError } from './wire/send.ts';

/** A problem, described for the operator in one or two sentences without URL, key or response. */
export interface Finding {
  readonly sentence: string;
  /** Where to fix it: in the configuration, or elsewhere. */
  readonly at: 'configuration' | 'world';
}

/** The values that appear in the sentences. */
export interface Subject {
  readonly upstream: UpstreamName;
  readonly baseUrl: string;
  readonly timeoutMs: number;
  /** False if callers bring the keys. */
  readonly ownKey: boolean;
}

/** A smaller difference between clocks is harmless: `Date` has whole seconds, and a response takes time. */
const MAX_SKEW_MS = 30_000;

/**
 * Derives problems of the configuration and of the clocks from the result of a request. Empty if there are none.
 * `wallMs` is the wall clock of this machine.
 */
function diagnose(witnessed: Witnessed, subject: Subject, wallMs: number): Finding[] {
  const { answer, outcome } = witnessed;
  const findings: Finding[] = [];
  if (outcome.kind === 'failure' && outcome.failure instanceof WireError) {
    if (!outcome.failure.byCaller) findings.push(unanswered(outcome.failure, subject));
  } else if (answer) {
    const fault = faultOf(answer, outcome, subject);
    if (fault) findings.push(fault);
  }

  const skewMs = answer ? skewOf(answer, wallMs) : 0;
  if (Math.abs(skewMs) > MAX_SKEW_MS) {
    const direction = skewMs > 0 ? 'ahead of' : 'behind';
    findings.push(
      world(
        `The clock of this machine is ${Math.round(Math.abs(skewMs) / 1000)} s ${direction} the clock of ${upstreamTitle[subject.upstream].replace('The', 'the')}. Synchronize it with NTP; if it is correct, report this to the operator of the API.`,
      ),
    );
  }
  return findings;
}

/** The problems of `diagnose`, and an outage of the upstream, which has no cause in the configuration. */
export function findingsOf(witnessed: Witnessed, subject: Subject, wallMs: number): Finding[] {
  return [...diagnose(witnessed, subject, wallMs), ...outageOf(witnessed, subject)];
}

function outageOf({ outcome }: Witnessed, { upstream }: Subject): Finding[] {
  if (outcome.kind !== 'failure' || outcome.failure.kind !== 'unavailable') return [];
  return [world(`${upstreamTitle[upstream]} is unavailable (${outcome.failure.detail}).`)];
}

/** The result of the latest request to an upstream. */
export interface LastResult {
  /** On `clock.now()`. */
  readonly at: number;
  /** Empty if there is no problem. */
  readonly findings: readonly Finding[];
}

/**
 * Stores the result of the latest request, for a probe that may not send one. Reports each finding once, until a request
 * has succeeded: later problems are not caused by the configuration.
 */
export class FaultWatch implements Witness {
  readonly subject: Subject;
  /** `null` before the first request has ended. */
  last: LastResult | null = null;
  readonly #clock: Clock;
  readonly #complain: (sentence: string) => void;
  readonly #complained = new Set<string>();
  #hasWorked = false;

  constructor(
    subject: Subject,
    { clock, complain }: { readonly clock: Clock; readonly complain: (sentence: string) => void },
  ) {
    this.subject = subject;
    this.#clock = clock;
    this.#complain = complain;
  }

  look(witnessed: Witnessed): void {
    const at = this.#clock.now();
    const problems = diagnose(witnessed, this.subject, this.#clock.wall());
    this.last = { at, findings: [...problems, ...outageOf(witnessed, this.subject)] };
    const { outcome } = witnessed;
    // `KeyAuthorization` reports it, each time that a key is rejected.
    const isOfKey = outcome.kind === 'failure' && outcome.failure.kind === 'unauthenticated';
    const { wrapped } = witnessed;
    if (wrapped !== undefined) this.#complainOnce(noticed(wrapped, this.subject));
    if (isOfKey) return;
    const isOfWire = outcome.kind === 'failure' && outcome.failure instanceof WireError;
    for (const { at: place, sentence } of problems) {
      // A certificate can expire, and a host can change its protocol, while the gateway runs.
      if (!this.#hasWorked || (isOfWire && place === 'configuration')) this.#complainOnce(sentence);
    }
    this.#hasWorked ||= outcome.kind === 'value' && outcome.value !== null;
  }

  #complainOnce(sentence: string): void {
    if (!this.#complained.has(sentence)) this.#complain(sentence);
    this.#complained.add(sentence);
  }
}

function noticed(resource: string, { upstream }: Subject): string {
  return `${upstreamTitle[upstream]} sends other text around the JSON of ${resource}, such as notices of PHP. The JSON is used. Set display_errors=Off for PHP there.`;
}

function skewOf({ headers: { date } }: RawAnswer, wallMs: number): number {
  const upstreamMs = typeof date === 'string' ? Date.parse(date) : Number.NaN;
  return Number.isNaN(upstreamMs) ? 0 : wallMs - upstreamMs;
}

/** Why a response is not as expected; `null` if the configuration is not the cause. */
function faultOf(
  { status, text }: RawAnswer,
  outcome: Witnessed['outcome'],
  { ownKey, upstream }: Subject,
): Finding | null {
  const setting = `${upstream}_BASE_URL`;
  if (outcome.kind === 'refused' || (outcome.kind === 'value' && outcome.value !== null))
    return null;
  const failure: Exclude<Failure, WireError> =
    outcome.kind === 'failure' && !(outcome.failure instanceof WireError)
      ? outcome.failure
      : { kind: 'absent', reason: '' };
  if (failure.kind === 'unauthenticated') {
    return ownKey ? configuration(rejectedKey(upstream)) : null;
  }
  // An outage is always reported as such.
  if (failure.kind === 'unavailable') return null;
  if (status >= 300 && status < 400) {
    return configuration(
      `${setting} redirects (HTTP ${status}). Set it to the target of the redirect: the gateway never follows a redirect with a key.`,
    );
  }
  // A missing or forbidden object says nothing about the configuration.
  if (failure.kind !== 'invalid' && failure.kind !== 'unserved') return null;
  const what = failure.kind === 'invalid' ? failure.detail : `HTTP ${status}: ${failure.why}`;
  const page = text.trimStart().startsWith('<');
  return configuration(
    page
      ? `${setting} serves a web page instead of the API (HTTP ${status} with HTML). Check its host and path.`
      : `${setting} does not serve the expected API (${what}). Check its host and path.`,
  );
}

/** Why there is no response, by the error code of the system or the library. */
function unanswered(
  { cause, kind }: WireError,
  { baseUrl, timeoutMs, upstream }: Subject,
): Finding {
  const setting = `${upstream}_BASE_URL`;
  const code = systemCode(cause);
  const known = code === '' ? '' : ` (${code})`;
  if (kind === 'timeout') {
    return world(
      `${upstreamTitle[upstream]} did not respond within ${timeoutMs} ms. Check ${setting}, or raise ${upstream}_TIMEOUT_MS.`,
    );
  }
  if (code === 'ENOTFOUND' || code === 'ERR_INVALID_URL') {
    return configuration(`The host of ${setting} cannot be resolved${known}. Check its spelling.`);
  }
  if (/CERT|SELF_SIGNED|UNABLE_TO|ERR_TLS/.test(code)) {
    return configuration(
      `The certificate of ${setting} is not trusted${known}. Renew the certificate, check the host, or add its authority with NODE_EXTRA_CA_CERTS.`,
    );
  }
  if (/protocol.version|unsupported.protocol/i.test(`${code} ${String(cause)}`)) {
    return configuration(
      `The server at ${setting} supports only versions of TLS that are too old${known}. Update it; until then, NODE_OPTIONS=--tls-min-v1.0 allows them.`,
    );
  }
  if (kind === 'unsent' && code === 'ECONNRESET' && baseUrl.startsWith('https:')) {
    return configuration(
      `The server at ${setting} closes the TLS handshake${known}. Check that its port expects https and its host name, and whether a firewall is in between.`,
    );
  }
  if (/EPROTO|SSL|HPE_/.test(code)) {
    return configuration(
      `The server at ${setting} does not use the protocol of the URL${known}. Check whether the URL needs http or https, and check the port.`,
    );
  }
  return world(
    `${upstreamTitle[upstream]} is unreachable${known}. Check the host and port of ${setting}, and the network access of this machine.`,
  );
}

function configuration(sentence: string): Finding {
  return { sentence, at: 'configuration' };
}

function world(sentence: string): Finding {
  return { sentence, at: 'world' };
}
