import type { ServerResponse } from 'node:http';
import { inBackground } from '../scheduling/at-once.ts';
import type { Clock } from '../scheduling/clock.ts';
import { withoutNames } from './names.ts';
import type { TakeSnapshot } from './snapshot.ts';

/** How often a new state is sent, in milliseconds. */
const SEND_MS = 1000;
/** Time for which a state is reused, in milliseconds, so that frequent requests are cheap. */
const SAME_MS = 200;
/** Streams at a time. */
const MOST_VIEWERS = 32;
/** Of those, places for viewers who may see names: others cannot block the console for its operators. */
const KEPT_FOR_OPERATORS = 8;
/** How often a viewer's permissions are checked, in milliseconds. */
const CHECK_MS = 60_000;

/** The permissions of a viewer, and whether they still apply. */
export interface ConsoleRights {
  /** Whether callers' names are visible. */
  readonly named: boolean;
  /** Checks again; `null` if nothing can have changed. */
  readonly still: (() => Promise<boolean>) | null;
}

/** A state as JSON, and as the event that all viewers share: so it is compressed once for all. */
interface Shown {
  readonly text: string;
  readonly event: Buffer;
}

interface Viewer {
  readonly response: ServerResponse;
  readonly rights: ConsoleRights;
  checkedAt: number;
}

/**
 * The state of the console as text: computed at most once for all viewers of a moment, and only while there are
 * viewers. A viewer that has not received the last state is sent no other until then: never a queue.
 */
export class ConsoleFeed {
  readonly #clock: Clock;
  readonly #take: TakeSnapshot;
  readonly #viewers = new Set<Viewer>();
  #texts: { readonly at: number; readonly named: Shown; readonly unnamed: Shown } | null = null;
  #isSending = false;
  #draining = false;
  #ended = false;

  constructor(clock: Clock, take: TakeSnapshot) {
    this.#clock = clock;
    this.#take = take;
  }

  /** The state of this moment as JSON. */
  text(named: boolean): string {
    return this.#shown(named).text;
  }

  #shown(named: boolean): Shown {
    const now = this.#clock.now();
    if (!this.#texts || now - this.#texts.at >= SAME_MS) this.#texts = this.#look(now);
    return named ? this.#texts.named : this.#texts.unnamed;
  }

  /** Whether there is room for another viewer, with or without names. */
  hasRoom(named: boolean): boolean {
    const places = named ? MOST_VIEWERS : MOST_VIEWERS - KEPT_FOR_OPERATORS;
    const taken = [...this.#viewers].filter(({ rights }) => named || !rights.named).length;
    return taken < places && this.#viewers.size < MOST_VIEWERS && !this.#ended;
  }

  /** Sends the state to a viewer from now on, whose response has its headers. */
  show(response: ServerResponse, rights: ConsoleRights): void {
    const viewer: Viewer = { response, rights, checkedAt: this.#clock.now() };
    this.#viewers.add(viewer);
    response.once('close', () => this.#viewers.delete(viewer));
    response.write(this.#eventFor(viewer));
    if (!this.#isSending) this.#sendLater();
  }

  /** The gateway is about to stop: states say so from now on. */
  drain(): void {
    this.#draining = true;
    this.#texts = null;
  }

  /** Ends all streams with a last state. */
  end(): void {
    this.drain();
    this.#ended = true;
    for (const viewer of this.#viewers) {
      const { response } = viewer;
      if (isBusy(response)) response.destroy();
      else response.end(this.#eventFor(viewer));
    }
  }

  #sendLater(): void {
    this.#isSending = true;
    this.#clock.after(SEND_MS, () => {
      this.#isSending = false;
      if (this.#viewers.size === 0 || this.#ended) return;
      for (const viewer of this.#viewers) this.#send(viewer);
      this.#sendLater();
    });
  }

  #send(viewer: Viewer): void {
    const now = this.#clock.now();
    if (viewer.rights.still && now - viewer.checkedAt >= CHECK_MS) {
      viewer.checkedAt = now;
      inBackground(this.#check(viewer, viewer.rights.still));
    }
    if (!isBusy(viewer.response)) viewer.response.write(this.#eventFor(viewer));
  }

  async #check({ response }: Viewer, still: () => Promise<boolean>): Promise<void> {
    // A new request reports the reason.
    if (!(await still())) response.end();
  }

  #eventFor({ rights }: Viewer): Buffer {
    return this.#shown(rights.named).event;
  }

  #look(now: number): { at: number; named: Shown; unnamed: Shown } {
    const state = this.#take(this.#draining);
    return { at: now, named: shownAs(state), unnamed: shownAs(withoutNames(state)) };
  }
}

function shownAs(state: object): Shown {
  const text = JSON.stringify(state);
  return { text, event: Buffer.from(`event: state\ndata: ${text}\n\n`) };
}

/** Whether a viewer has not taken all that was said. */
function isBusy({ destroyed, writableEnded, writableLength }: ServerResponse): boolean {
  return destroyed || writableEnded || writableLength > 0;
}
