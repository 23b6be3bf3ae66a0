import type { OwnKeys } from '../config/own-key.ts';
import { isPassedOn } from '../http/door/local-caller.ts';
import type { Handler } from '../http/door/route.ts';
import { jsonAnswer, respond, textAnswer } from '../http/respond.ts';
import { inBackground } from '../scheduling/at-once.ts';
import type { Clock } from '../scheduling/clock.ts';
import { Proofs } from './probe-proof.ts';
import type { Probed } from './upstream-probe.ts';

/** For how long the result of a probe is given again, in milliseconds. */
const REUSED_MS = 5000;

/**
 * Answers `POST /probe`, by which `check-config --probe` has a running gateway ask its upstreams: the requests count in
 * the budget of the process that owns it. Only for who proves to have one of its upstream keys, directly and from no
 * page; however many ask, one probe is under way at a time, and its result is given again for five seconds.
 */
export function createProbePage({
  clock,
  keys,
  probe,
}: {
  readonly clock: Clock;
  readonly keys: OwnKeys;
  readonly probe: () => Promise<Probed>;
}): Handler {
  const proofs = new Proofs();
  let latest: { readonly probed: Promise<Probed>; endedAt: number } | null = null;
  const shared = (): Promise<Probed> => {
    if (latest && clock.now() - latest.endedAt < REUSED_MS) return latest.probed;
    const begun = { probed: probe(), endedAt: Number.POSITIVE_INFINITY };
    latest = begun;
    const ended = (): void => {
      begun.endedAt = clock.now();
    };
    begun.probed.then(ended, ended);
    return begun.probed;
  };
  return (request, response) => {
    const { authorization, origin, 'sec-fetch-site': site } = request.headers;
    const isDirect = origin === undefined && site === undefined && !isPassedOn(request);
    const secrets = Object.values(keys).flatMap(({ credential: { secret } }) => secret || []);
    if (request.method !== 'POST') {
      const refusal = textAnswer(405, 'Only POST is allowed.');
      respond(response, { ...refusal, headers: { Allow: 'POST' } });
    } else if (!isDirect || !proofs.accept(authorization, secrets, clock.wall())) {
      respond(response, textAnswer(403, REFUSAL));
    } else {
      const answered = shared().then(
        (probed) => respond(response, jsonAnswer(200, probed)),
        () => respond(response, textAnswer(500, 'The probe failed. The log has the reason.')),
      );
      inBackground(answered);
    }
  };
}

const REFUSAL =
  'Only check-config --probe with the upstream API keys of this gateway may use this page.';
