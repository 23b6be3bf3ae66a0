import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Admission } from './admission.ts';

/** Handles a request that the door has admitted. Never rejects. */
export type Handler = (
  request: IncomingMessage,
  response: ServerResponse,
  admission: Admission,
) => void;

/** What answers on one path. */
export interface Route {
  readonly answer: Handler;
  /** For whom it answers where operators have a port of their own; absent for all. */
  readonly audience?: 'callers' | 'operators';
  /** Probes use any name of the process. */
  readonly anyHost?: true;
  /** The route itself limits how large a body may be and how long it may take. */
  readonly limitsBody?: true;
  /** It shares the turns of the event loop with operations. */
  readonly inTurn?: true;
}

/** Routes by path; one that ends with a slash includes everything below it. */
export type Routes = Readonly<Record<string, Route>>;
