import { type Answer, complaintsOf } from './answer.ts';
import { type Asked, ask } from './ask.ts';
import { Forecast } from './forecast.ts';
import { Strip } from './strip.ts';
import { Token } from './token.ts';

/** What of a run only the editors know. */
interface Run {
  readonly tab: string;
  readonly asked: Asked;
  readonly live: boolean;
  /** Beside the token's. */
  readonly headers: Readonly<Record<string, string>>;
  readonly files: ReadonlyMap<string, File>;
}

/** A run under way: its answers one after the other, and an end to it whenever `return` is called. */
type Answers = AsyncIterableIterator<Answer>;

/** What the page adds to GraphiQL: the price, the strip above the result, and the token. */
export class Page {
  readonly strip = new Strip();
  readonly forecast = new Forecast();
  readonly token: Token;
  /** Loads the schema again, because another token holds from now on. The editors set it. */
  loadSchema: () => void = () => undefined;

  constructor() {
    this.token = new Token(() => {
      this.loadSchema();
      void this.forecast.renew();
    });
  }

  /** Sends an operation. The strip shows each part as it is taken from the iterator. */
  run({ asked, files, headers, live, tab }: Run): Answers {
    const control = new AbortController();
    const manner = {
      headers: { ...this.token.headers, ...headers },
      live,
      inParts: true,
      signal: control.signal,
      files,
    };
    const { forecast, strip, token } = this;
    const { turnInMs } = forecast;
    strip.begin(tab, turnInMs);
    // On its way before the run is, so that the run does not wait behind itself.
    if (turnInMs === null) {
      void forecast.renew().then(() => strip.expectTurn(tab, forecast.turnInMs));
    }
    const answers = ask(asked, manner);
    let reported = false;
    let last: Answer | undefined;
    const end = (): void => {
      if (reported) return;
      reported = true;
      strip.end(tab, control.signal.aborted);
      void forecast.renew();
    };
    return {
      async next() {
        for (;;) {
          const step = await answers.next();
          if (step.done || control.signal.aborted) {
            end();
            return { done: true, value: undefined };
          }
          const { data, extensions } = step.value;
          token.judge(complaintsOf(step.value));
          strip.take(tab, step.value);
          // Only older, or refreshed and equal: to show it again would lose the reader's place.
          const isOther = !extensions?.live || data !== last?.data;
          last = step.value;
          if (isOther) return { done: false, value: dataFirst(step.value) };
        }
      },
      async return() {
        control.abort();
        end();
        return { done: true, value: undefined };
      },
      [Symbol.asyncIterator]() {
        return this;
      },
    };
  }
}

/** The same answer with what was asked for above what went wrong. */
function dataFirst(answer: Answer): Answer {
  return 'data' in answer ? { data: answer.data, ...answer } : answer;
}
