import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { GATEWAY, type Running, start } from '../../support/process.ts';

/** What a process says of itself; sizes are bytes. See inside.js. */
export interface Inside {
  /** By how much its event loop was late at most since it was asked before. */
  readonly longestTurnMs: number;
  /** On the heap and beside it, after a collection. */
  readonly held: number;
  readonly rss: number;
}

/** As a pod of 512 MB has it: the rest is for what is not on the heap. */
const HEAP_MB = 384;
/** Who is silent for longer cannot be measured. */
const SILENCE_MS = 4000;

/** The built gateway in a process of its own. */
export class GatewayProcess {
  readonly url: string;
  readonly #running: Running;
  #asked = 0;

  private constructor(running: Running, url: string) {
    this.#running = running;
    this.url = url;
  }

  static async start(env: Readonly<Record<string, string>>): Promise<GatewayProcess> {
    const args = [
      `--max-old-space-size=${HEAP_MB}`,
      // The space of new objects has its full size before the attack, so that growth is what connections hold.
      `--min-semi-space-size=16`,
      '--import',
      new URL('inside.js', import.meta.url).href,
      ...GATEWAY,
    ];
    const cwd = new URL('../../..', import.meta.url).pathname;
    const running = start(process.execPath, args, { cwd, env: { PORT: '0', ...env } });
    const [url] = await running.says(/http:\/\/[^\s/]+/);
    return new GatewayProcess(running, url.replace('localhost', '127.0.0.1'));
  }

  get lives(): boolean {
    const { exitCode, signalCode } = this.#running.child;
    return exitCode === null && signalCode === null;
  }

  /** Resolves when the process is no more. */
  get ended(): Promise<unknown> {
    return this.#running.ended;
  }

  /** `null` when it says nothing. */
  async inside(): Promise<Inside | null> {
    this.#asked += 1;
    this.#running.child.kill('SIGUSR2');
    const said = this.#running.says(new RegExp(`inside ${this.#asked} (.*)\n`)).then(
      ([, json = '']) => JSON.parse(json) as Inside,
      () => null,
    );
    return Promise.race([said, sleep(SILENCE_MS, null, { ref: false })]);
  }

  /** Forgets how large it was, where Linux lets it. */
  forgetPeak(): void {
    if (existsSync(this.#proc)) writeFileSync(`${this.#proc}/clear_refs`, '5');
  }

  /** Bytes that were resident at most since the peak was forgotten; `null` if unknown. */
  get peak(): number | null {
    const status = `${this.#proc}/status`;
    if (!existsSync(status)) return null;
    const kilobytes = /^VmHWM:\s*(\d+) kB/m.exec(readFileSync(status, 'utf8'))?.[1];
    return kilobytes === undefined ? null : Number(kilobytes) * 1024;
  }

  get #proc(): string {
    return `/proc/${this.#running.child.pid}`;
  }

  async kill(): Promise<void> {
    this.#running.child.kill('SIGKILL');
    await this.#running.ended;
  }
}
