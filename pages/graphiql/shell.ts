import type { Asked } from './ask.ts';
import { byId, make } from './elements.ts';
import { type Answers, type Desk, isLive, type Page } from './page.ts';
import { openTabs, type TabState, type Tabs } from './tabs.ts';

/** The desk until the editors are there: tabs, a text field, a button, and the result as plain text. */
export class Shell implements Desk {
  readonly tabs: Tabs;
  /** Where the result of a run that is under way goes, also after the editors have come. */
  showResult: (text: string) => void = (text) => {
    this.#result.textContent = text;
  };
  readonly #page: Page;
  readonly #query = byId('shell-query', HTMLTextAreaElement);
  readonly #variables = byId('shell-variables', HTMLTextAreaElement);
  readonly #lines = byId('shell-lines');
  readonly #result = byId('shell-result');
  readonly #run = byId('shell-run', HTMLButtonElement);
  #answers: Answers | null = null;
  #isLive = false;

  constructor(page: Page) {
    this.#page = page;
    page.desk = this;
    this.tabs = openTabs(page.examples);
    const list = byId('shell-tabs');
    list.replaceChildren(
      ...this.tabs.tabs.map(({ title }, index) => this.#tabButton(title, index)),
    );
    list.addEventListener('keydown', (event) => this.#walk(event));
    this.#query.addEventListener('input', () => this.#edited());
    this.#variables.addEventListener('input', () => this.#edited());
    this.#query.addEventListener('scroll', () => {
      this.#lines.style.translate = `0 ${-this.#query.scrollTop}px`;
    });
    byId('shell').addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) this.run();
    });
    this.#run.addEventListener('click', () => {
      if (this.#answers) void this.#answers.return?.();
      else this.run();
    });
    this.turnTo(this.tabs.activeTabIndex);
    this.#run.disabled = false;
  }

  /** The tab that is open, with its text as it is now. */
  get tab(): TabState {
    const tab = this.tabs.tabs[this.tabs.activeTabIndex];
    if (!tab) throw new TypeError('no tab is open');
    return tab;
  }

  /** The result that is shown. */
  get result(): string {
    return this.#result.textContent;
  }

  /** Where the cursor is in the text, if that is where somebody writes. */
  get cursor(): number | null {
    return document.activeElement === this.#query ? this.#query.selectionStart : null;
  }

  /** Whether a live query goes on, which the editors take over. Any other run comes to its end here. */
  get goesOn(): boolean {
    return this.#answers !== null && this.#isLive;
  }

  /** Ends what goes on. */
  stop(): void {
    void this.#answers?.return?.();
  }

  turnTo(index: number): void {
    this.tabs.activeTabIndex = index;
    const { id, query, variables } = this.tab;
    this.stop();
    this.#query.value = query ?? '';
    this.#variables.value = variables ?? '';
    this.#result.textContent = '';
    for (const [at, tab] of [...byId('shell-tabs').children].entries()) {
      tab.setAttribute('aria-selected', String(at === index));
      tab.setAttribute('tabindex', at === index ? '0' : '-1');
      if (at === index) tab.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    }
    this.#drawLines();
    this.#page.strip.turnTo(id);
    this.#price();
  }

  run(): void {
    void this.#send();
  }

  renew(): void {
    // There is no schema to be asked for yet.
  }

  async #send(): Promise<void> {
    if (this.#answers) return;
    const { id: tab } = this.tab;
    let asked: Asked;
    try {
      asked = this.#asked();
    } catch {
      this.showResult('The variables are not valid JSON.');
      return;
    }
    this.#isLive = isLive(asked.query);
    const answers = this.#page.run({ tab, asked, live: this.#isLive, inParts: false });
    this.#answers = answers;
    this.showResult('');
    this.#run.textContent = 'Stop';
    for await (const answer of answers) this.showResult(JSON.stringify(answer, null, 2));
    if (this.#answers !== answers) return;
    this.#answers = null;
    this.#run.textContent = 'Run';
  }

  /** @throws SyntaxError where the variables are no JSON. */
  #asked(): Asked {
    const { operationName, query, variables } = this.tab;
    return {
      query: query ?? '',
      operationName,
      ...(variables?.trim() && { variables: JSON.parse(variables) as Record<string, unknown> }),
    };
  }

  #edited(): void {
    Object.assign(this.tab, { query: this.#query.value, variables: this.#variables.value });
    // Its name may be another now, and a text with one operation needs none.
    this.tab.operationName = null;
    this.#drawLines();
    this.#page.strip.hold();
    this.#price();
  }

  /** Only of an example, since nothing here knows yet whether another text makes sense. */
  #price(): void {
    const { query } = this.tab;
    const isKnown = this.#page.examples.some((example) => example.query === query);
    this.#page.forecast.want(() => {
      if (!isKnown) return null;
      try {
        return { asked: this.#asked(), headers: this.#page.token.headers };
      } catch {
        return null;
      }
    });
  }

  #drawLines(): void {
    const count = this.#query.value.split('\n').length;
    this.#lines.textContent = Array.from({ length: count }, (_, index) => index + 1).join('\n');
  }

  #tabButton(title: string, index: number): HTMLElement {
    const tab = make('button', 'shell-tab', title);
    tab.type = 'button';
    tab.setAttribute('role', 'tab');
    tab.addEventListener('click', () => this.turnTo(index));
    return tab;
  }

  #walk({ key }: KeyboardEvent): void {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[key];
    if (!step) return;
    const { activeTabIndex, tabs } = this.tabs;
    this.turnTo((activeTabIndex + step + tabs.length) % tabs.length);
    (byId('shell-tabs').children[this.tabs.activeTabIndex] as HTMLElement).focus();
  }
}
