import { type Answer, type Complaint, complaintsOf, type Receipt } from './answer.ts';
import { make } from './elements.ts';
import { ageText, awayText, durationText } from './words.ts';

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
  readonly element = make('div', 'strip');
  /** Read to a person who does not see it, each time that it is another. */
  readonly #facts = make('p', 'facts');
  /** Counts, which a screen reader must not read out each second. */
  readonly #timer = make('p', 'timer');
  readonly #complaints = make('ul', 'complaints');
  readonly #tabs = new Map<string, Situation>();
  #tab = '';

  constructor() {
    this.#facts.setAttribute('role', 'status');
    this.#timer.setAttribute('role', 'timer');
    this.element.append(make('div', 'line', this.#facts, this.#timer), this.#complaints);
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
    const facts: Node[] = [];
    if (receipt) facts.push(...receiptFacts(receipt, live !== null));
    if (live) facts.push(fact('revision', `${live.revision}`, 'before'));
    if (stopped && !under) facts.push(make('span', 'fact', 'stopped'));
    if (facts.length === 0 && complaints.length > 0)
      facts.push(make('span', 'fact', 'no upstream request'));
    if (facts.length === 0 && !under) {
      facts.push(make('span', 'fact hint', 'The cost of a response is shown here.'));
    }
    this.#facts.replaceChildren(...facts);
    const groups = byMessage(complaints);
    const shown = groups.slice(0, MOST_SHOWN).map(complaintItem);
    const more = groups.length - shown.length;
    if (more > 0)
      shown.push(make('li', '', `and ${more} more ${more === 1 ? 'error' : 'errors'} below`));
    this.#complaints.replaceChildren(...shown);
    this.#tick();
  }

  #tick(): void {
    const now = Date.now();
    const { live, startedAt, turnAt, under } = this.#of(this.#tab);
    let text = '';
    if (live) text = `oldest data ${ageText(Math.max(0, now - live.bornAt))}, live`;
    else if (under && turnAt !== null && turnAt > now) text = `starts in ${awayText(turnAt - now)}`;
    else if (under && now - startedAt > PATIENCE_MS) {
      text = `waiting for the response, ${durationText(now - startedAt)}`;
    }
    if (this.#timer.textContent !== text) this.#timer.textContent = text;
  }
}

function receiptFacts(
  { calls, maxAgeMs, refreshes, saved, stale, waitedMs }: Receipt,
  isLive: boolean,
): Node[] {
  const facts = [
    fact(calls === 1 ? 'upstream request' : 'upstream requests', `${calls}`),
    fact('saved', `${saved.cache + saved.coalesced}`),
    fact('waited', durationText(waitedMs)),
  ];
  // It goes on counting where the answer is live.
  if (!isLive) facts.push(fact('oldest data', ageText(maxAgeMs), 'before'));
  if (stale > 0) facts.push(fact('stale', `${stale}`));
  if (refreshes > 0) facts.push(fact(refreshes === 1 ? 'refresh' : 'refreshes', `${refreshes}`));
  return facts;
}

function fact(word: string, value: string, place: 'before' | 'after' = 'after'): HTMLElement {
  const number = make('b', '', value);
  return place === 'after'
    ? make('span', 'fact', number, ` ${word}`)
    : make('span', 'fact', `${word} `, number);
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
  return make(
    'li',
    '',
    ...(place ? [make('span', 'place', place), ' '] : []),
    message,
    ...(extensions?.code ? [' ', make('code', '', extensions.code)] : []),
  );
}

function placeOf({ locations, path }: Complaint): string {
  const at = locations?.[0];
  if (path?.length) return path.join('.');
  return at ? `line ${at.line}:${at.column}` : '';
}
