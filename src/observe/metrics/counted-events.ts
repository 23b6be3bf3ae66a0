import type { EventReader } from '../event-stream.ts';
import type { EventName } from '../events.ts';

/** The events that metrics count: they are held until the library of the metrics is loaded. */
export const countedEvents = [
  'answeredInBulk',
  'conflict',
  'keyed',
  'keysForgotten',
  'liveEnded',
  'liveRun',
  'operationEnded',
  'reads',
  'requestEnded',
  'surprise',
  'tokenRejected',
  'waited',
] as const satisfies readonly EventName[];

/** Reads what is counted, and nothing else. */
export type CountingReader = Pick<EventReader, (typeof countedEvents)[number]>;
