import { stripVTControlCharacters } from 'node:util';
import { DefaultReporter, type TestModule, type TestSpecification, type Vitest } from 'vitest/node';

/** Number of progress lines of a run. */
const LINES = 10;

/** Prints progress in a few lines, files that failed, then the errors and a summary; colours on a terminal only. */
export default class ProgressReporter extends DefaultReporter {
  #files = 0;
  #ended = 0;

  constructor() {
    super({ summary: false });
  }

  override onInit(vitest: Vitest): void {
    const { outputStream, errorStream } = vitest.logger;
    // Vitest colours what it prints wherever it goes, and decides that before reporters are loaded.
    if (!this.isTTY)
      for (const stream of new Set([outputStream, errorStream])) withoutColours(stream);
    super.onInit(vitest);
  }

  override onTestRunStart(specifications: readonly TestSpecification[]): void {
    super.onTestRunStart(specifications);
    this.#files = specifications.length;
    this.#ended = 0;
  }

  protected override printTestModule(module: TestModule): void {
    if (module.state() === 'failed') super.printTestModule(module);
    this.#ended += 1;
    if (this.#ended % Math.ceil(this.#files / LINES) !== 0) return;
    const seconds = Math.round((performance.now() - this.start) / 1000);
    this.log(`${this.#ended} of ${this.#files} files, ${seconds} s`);
  }
}

function withoutColours(stream: NodeJS.WritableStream): void {
  const write = stream.write.bind(stream) as (chunk: unknown, ...more: unknown[]) => boolean;
  stream.write = (chunk: unknown, ...more: unknown[]) =>
    write(typeof chunk === 'string' ? stripVTControlCharacters(chunk) : chunk, ...more);
}
