import { html } from '../dom.ts';
import { counted, inTime } from '../words.ts';
import type { Plan } from './answer.ts';
import { type Asked, dryRun, type Manner } from './ask.ts';

/** How long no key may be pressed before a dry run. */
const PAUSE_MS = 400;
/** How long a plan can be taken for what holds now. */
const FRESH_MS = 5000;

/** What a price is asked for; a text says why the operation cannot be run, `null` nothing. */
export type Wanted = () =>
  | (Pick<Manner, 'headers' | 'files'> & { readonly asked: Asked })
  | string
  | null;

/** Says beside the button what a run would cost now, and when it would start. */
export class Forecast {
  readonly element = html('div', { id: 'cost', class: 'cost', role: 'status' });
  #plan: { readonly plan: Plan; readonly at: number } | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #asking: AbortController | undefined;
  #wanted: Wanted = () => null;
  #problem = '';

  constructor() {
    setInterval(() => this.#draw(), 1000);
  }

  /** Asks for the price once nothing else is wanted for a moment. What is said until then is out of date. */
  want(wanted: Wanted): void {
    this.#wanted = wanted;
    this.#forget();
    this.#timer = setTimeout(() => void this.renew(), PAUSE_MS);
  }

  /** Asks for the price of what was wanted last, now. */
  async renew(): Promise<void> {
    this.#forget();
    const wanted = this.#wanted();
    this.#problem = typeof wanted === 'string' ? wanted : '';
    if (wanted === null || typeof wanted === 'string') {
      this.#draw();
      return;
    }
    const control = new AbortController();
    this.#asking = control;
    const plan = await dryRun(wanted.asked, { ...wanted, signal: control.signal });
    if (control.signal.aborted) return;
    this.#plan = plan && { plan, at: Date.now() };
    this.#draw();
  }

  /** Milliseconds until the first request of a run would leave, as far as that is known now. */
  get turnInMs(): number | null {
    const { at = 0, plan } = this.#plan ?? {};
    if (plan?.startsInMs === undefined || Date.now() - at > FRESH_MS) return null;
    return Math.max(0, plan.startsInMs - (Date.now() - at));
  }

  #forget(): void {
    clearTimeout(this.#timer);
    this.#asking?.abort();
    this.#plan = null;
    this.element.classList.add('old');
  }

  #draw(): void {
    // Until the next price is there, the last one stands, in grey.
    if (!this.#plan && this.#asking && !this.#asking.signal.aborted) return;
    const text = this.#plan ? planText(this.#plan.plan, Date.now() - this.#plan.at) : this.#problem;
    this.element.classList.toggle('old', !this.#plan && !this.#problem);
    this.element.classList.toggle('much', this.#plan?.plan.fits === false || this.#problem !== '');
    if (this.element.textContent !== text) this.element.textContent = text;
  }
}

function planText({ calls, exact, fits, saved, startsInMs }: Plan, agoMs: number): string {
  const kept = saved.cache + saved.coalesced;
  if (!fits)
    return `too expensive: about ${counted(calls, 'upstream request')}, over the limit per operation`;
  const about = calls === 0 ? 'probably none' : `about ${counted(calls, 'upstream request')}`;
  const certain = `would cost ${calls === 0 ? 'no upstream request' : counted(calls, 'upstream request')}`;
  const words = [exact ? certain : about];
  if (kept > 0) words.push(`${kept} saved`);
  if (calls > 0 && startsInMs !== undefined) {
    words.push(`starts ${inTime(startsInMs - agoMs)}`);
  }
  return words.join(', ');
}
