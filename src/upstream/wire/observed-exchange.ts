import type { EventStream } from '../../observe/event-stream.ts';
import type { RequestOrigin, UpstreamOutcome } from '../../observe/events.ts';
import type { Call } from '../request.ts';
import { type Exchanged, type ExchangeOptions, exchange } from './exchange.ts';
import { faultOf, readError } from './failure.ts';
import { WireError } from './send.ts';

/** Why a request leaves, and the object that stands for the operation that it leaves for, if it does for one. */
export interface Departing extends RequestOrigin {
  readonly operation: object | undefined;
}

/** What a request is about, e.g. `channels`: one of few words, never an id. */
export function resourceOf({
  path,
  resource,
}: Pick<Call<unknown>, 'path'> & { readonly resource?: string }): string {
  return resource ?? nounOf(path);
}

/** `exchange` with its beginning and its end as events; without `events` it is `exchange` and nothing else. */
export function observedExchange<T>(
  options: ExchangeOptions & { readonly events?: EventStream },
  call: Call<T> & { readonly absentIsNull?: boolean; readonly resource?: string },
  secret: string,
  { asker, caller, lane, operation, renews }: Departing,
  mayLeave?: () => boolean,
): Promise<Exchanged<T>> {
  const { api, clock, events } = options;
  if (!events) return exchange(options, call, secret, mayLeave);
  const sentAt = clock.now();
  const request = {
    sentAt,
    upstream: api.upstream,
    method: call.method,
    resource: resourceOf(call),
    operation,
    asker,
    caller,
    lane,
    renews,
  };
  events.emit('requestSent', request);
  const end = (ended: Omit<UpstreamOutcome, 'durationMs'>): void => {
    const at = clock.now();
    events.emit('requestEnded', { at, request, outcome: { ...ended, durationMs: at - sentAt } });
  };
  const work = async (): Promise<Exchanged<T>> => {
    try {
      const exchanged = await exchange(options, call, secret, mayLeave);
      end(outcomeOf(options, call, exchanged));
      return exchanged;
    } catch (error) {
      end({ code: 'INTERNAL_SERVER_ERROR', cause: error });
      throw error;
    }
  };
  return events.within ? events.within(request, work) : work();
}

function outcomeOf<T>(
  { api }: ExchangeOptions,
  call: Call<T>,
  { outcome }: Exchanged<T>,
): Omit<UpstreamOutcome, 'durationMs'> {
  if (outcome.kind === 'value') return { code: 'OK' };
  if (outcome.kind === 'refused') return { code: 'REFUSED' };
  if (outcome.kind === 'late') return { code: 'LATE' };
  const { failure } = outcome;
  if (failure instanceof WireError && failure.byCaller) return { code: 'CANCELED' };
  const fault = faultOf(failure, call) ?? undefined;
  const { code, cause } = readError(api.upstream, failure);
  // An upstream's own sentence can hold anything that was sent to it.
  return { code, fault, kind: kindOf(call), ...(cause === undefined ? {} : { cause }) };
}

/** The word behind `/api` in a path of ours; what follows it can be a caller's. What a call without a resource is told by. */
export function nounOf(path: string): string {
  return path.split('/', 3)[2] ?? '';
}

/** The kind of resource that a request is about: the same for a list, a row of it and their writes. */
export function kindOf({ path }: Pick<Call<unknown>, 'path'>): string {
  // `/api/campaigns`, but `/api/campaign/:id`.
  return nounOf(path).replace(/s$/, '');
}
