import { type Child, html, show, span } from '../dom.ts';
import { counted, duration, timePassed, timeToCome } from '../words.ts';
import { type Answer, type Complaint, complaintsOf, type Receipt } from './answer.ts';

/** Complaints that are shown one by one; the result has all of them. */
const MOST_SHOWN = 3;
const TICK_MS = 250;
/** What is there sooner is not worth a word about waiting. */
const PATIENCE_MS = 400;

/** What there is to say about a run. */
interface Situation {
  /** Whether it is still under way. */
  readonly under: boolean;
  readonly startedAt: number;
  /** When it is probably its turn under the rate limits; `null` where that is not known. */
  readonly turnAt: number | null;
  readonly receipt: Receipt | null;
  readonly complaints: readonly Complaint[];
  readonly live: { readonly revision: number; readonly bornAt: number } | null;
  readonly stopped: boolean;
}

const nothing: Situation = {
  under: false,
  startedAt: 0,
  turnAt: null,
  receipt: null,
  complaints: [],
  live: null,
  stopped: false,
};

/** Says above the result what it cost, how old it is and what went wrong, for the tab that is looked at. */
export class Strip {
  readonly element = html('div', { class: 'strip' });
  /** Read to a person who does not see it, each time that it is another. */
  readonly #facts = html('p', { class: 'facts', role: 'status' });
  /** Counts, which a screen reader must not read out each second. */
  readonly #timer = html('p', { class: 'timer', role: 'timer' });
  readonly #complaints = html('ul', { class: 'complaints' });
  readonly #tabs = new Map<string, Situation>();
  #tab = '';

  constructor() {
    const line = html('div', { class: 'line' }, this.#facts, this.#timer);
    this.element.append(line, this.#complaints);
    this.#draw();
    setInterval(() => this.#tick(), TICK_MS);
  }

  /** Shows from now on what there is to say about this tab. */
  turnTo(tab: string): void {
    if (tab === this.#tab) return;
    this.#tab = tab;
    this.#draw();
  }

  /** A run begins; `turnInMs` is when its first request would probably leave. */
  begin(tab: string, turnInMs: number | null): void {
    this.#tabs.set(tab, { ...nothing, under: true, startedAt: Date.now() });
    this.expectTurn(tab, turnInMs);
    if (tab === this.#tab) this.#draw();
  }

  /** Says of a run that is under way when it is probably its turn. */
  expectTurn(tab: string, turnInMs: number | null): void {
    if (turnInMs !== null && turnInMs > 0) this.#set(tab, { turnAt: Date.now() + turnInMs });
  }

  /** An answer, or a part of one, has come. */
  take(tab: string, answer: Answer): void {
    const { live, upstream } = answer.extensions ?? {};
    const before = this.#of(tab);
    // A live answer stands for itself; a part adds to those before.
    const complaints = [...(live ? [] : before.complaints), ...complaintsOf(answer)];
    this.#set(tab, {
      complaints,
      receipt: upstream ?? before.receipt,
      live: live ? { revision: live.revision, bornAt: Date.now() - live.ageMs } : null,
    });
    if (tab === this.#tab) this.#draw();
  }

  /** Nothing more will come of a run. */
  end(tab: string, stopped: boolean): void {
    this.#set(tab, { under: false, stopped, live: null });
    if (tab === this.#tab) this.#draw();
  }

  #of(tab: string): Situation {
    return this.#tabs.get(tab) ?? nothing;
  }

  #set(tab: string, change: Partial<Situation>): void {
    if (this.#tabs.has(tab)) this.#tabs.set(tab, { ...this.#of(tab), ...change });
  }

  #draw(): void {
    const { complaints, live, receipt, stopped, under } = this.#of(this.#tab);
    const facts: Child[] = [];
    if (receipt) facts.push(...receiptFacts(receipt, live !== null));
    if (live) facts.push(span('fact', 'revision ', html('b', {}, `${live.revision}`)));
    if (stopped && !under) facts.push(span('fact', 'stopped'));
    if (facts.length === 0 && complaints.length > 0)
      facts.push(span('fact', 'no upstream request'));
    if (facts.length === 0 && !under) {
      facts.push(span('fact hint', 'The cost of a response is shown here.'));
    }
    show(this.#facts, facts);
    const groups = byMessage(complaints);
    const more = groups.length - MOST_SHOWN;
    show(
      this.#complaints,
      groups.slice(0, MOST_SHOWN).map(complaintItem),
      more > 0 ? html('li', {}, `and ${counted(more, 'more error')} below`) : null,
    );
    this.#tick();
  }

  #tick(): void {
    const now = Date.now();
    const { live, startedAt, turnAt, under } = this.#of(this.#tab);
    let text = '';
    if (live) text = `oldest data ${timePassed(now - live.bornAt)}, live`;
    else if (under && turnAt !== null && turnAt > now)
      text = `starts in ${timeToCome(turnAt - now)}`;
    else if (under && now - startedAt > PATIENCE_MS) {
      text = `waiting for the response, ${timePassed(now - startedAt)}`;
    }
    show(this.#timer, text);
  }
}

function receiptFacts(
  { calls, maxAgeMs, refreshes, saved, stale, waitedMs }: Receipt,
  isLive: boolean,
): HTMLElement[] {
  return [
    fact(`${calls}`, calls === 1 ? 'upstream request' : 'upstream requests'),
    fact(`${saved.cache + saved.coalesced}`, 'saved'),
    fact(duration(waitedMs), 'waited'),
    // It goes on counting where the answer is live.
    ...(isLive ? [] : [span('fact', 'oldest data ', html('b', {}, timePassed(maxAgeMs)))]),
    ...(stale > 0 ? [fact(`${stale}`, 'stale')] : []),
    ...(refreshes > 0 ? [fact(`${refreshes}`, refreshes === 1 ? 'refresh' : 'refreshes')] : []),
  ];
}

function fact(value: string, word: string): HTMLElement {
  return span('fact', html('b', {}, value), ` ${word}`);
}

function byMessage(complaints: readonly Complaint[]): Complaint[][] {
  const groups = new Map<string, Complaint[]>();
  for (const complaint of complaints) {
    groups.set(complaint.message, [...(groups.get(complaint.message) ?? []), complaint]);
  }
  return [...groups.values()];
}

/** Complaints with the same words, once, with all places that they are about. */
function complaintItem(complaints: readonly Complaint[]): HTMLElement {
  const [{ extensions, message }] = complaints as [Complaint];
  const places = complaints.map(placeOf).filter(Boolean);
  const more = places.length - MOST_SHOWN;
  const place = places.slice(0, MOST_SHOWN).join(', ') + (more > 0 ? ` and ${more} more` : '');
  const code = extensions?.code;
  return html(
    'li',
    {},
    place && [span('place', place), ' '],
    message,
    code ? [' ', html('code', {}, code)] : null,
  );
}

function placeOf({ locations, path }: Complaint): string {
  const at = locations?.[0];
  if (path?.length) return path.join('.');
  return at ? `line ${at.line}:${at.column}` : '';
}
