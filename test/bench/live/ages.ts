import { request } from 'node:http';

/** What is shown to one viewer since a moment: how old the oldest of it was at most. */
export class AgesShown {
  /** In milliseconds, at any moment since `begin`. */
  oldestMs = 0;
  #counts = false;
  /** When the oldest answer that is shown was asked for, on `performance.now()`. */
  #askedAt = Number.NaN;
  readonly #sent;

  /** Looks at a live query; `body` is the request in JSON. */
  constructor(url: string, body: string) {
    this.#sent = request(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream;live=age' },
    });
    this.#sent.on('error', () => {});
    this.#sent.on('response', (response) => {
      let line = '';
      response.setEncoding('utf8').on('data', (piece: string) => {
        const lines = (line + piece).split('\n');
        line = lines.pop() ?? '';
        for (const each of lines) this.#read(each);
      });
    });
    this.#sent.end(body);
  }

  /** What was shown before does not count. */
  begin(): void {
    this.#look();
    this.#counts = true;
    this.oldestMs = 0;
  }

  /** Looks no longer, and answers how old the oldest was at most. */
  end(): number {
    this.#look();
    this.#sent.destroy();
    return this.oldestMs;
  }

  #read(line: string): void {
    const age = /"ageMs":(\d+)/.exec(line)?.[1];
    if (age === undefined) return;
    this.#look();
    this.#askedAt = performance.now() - Number(age);
  }

  /** Nothing is as old as what is about to be replaced. */
  #look(): void {
    if (!this.#counts) return;
    const ageMs = performance.now() - this.#askedAt;
    // One that has shown nothing yet has shown nothing old.
    if (ageMs > this.oldestMs) this.oldestMs = ageMs;
  }
}
