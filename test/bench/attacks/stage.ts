import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts';
import { type Running, start } from '../../support/process.ts';
import { ranBefore } from '../ran-before.ts';
import type { Figure } from '../report/measurement.ts';
import type { Attack } from './attack.ts';
import { GatewayProcess, type Inside } from './gateway-process.ts';
import { learn, reading, tokensFile } from './reader.ts';
import { sendAll, Target, tokens } from './target.ts';
import { type Watched, Watcher } from './watcher.ts';

/** What an attack came to. */
export interface Outcome {
  readonly attack: Attack;
  /** `/livez` of the gateway. */
  readonly livez: Watched;
  /** An honest caller of it. */
  readonly reader: Watched;
  /** A bare server beside it that is not attacked. */
  readonly bare: Watched;
  /** Whether the process is still there. */
  readonly lives: boolean;
  /** Requests that reached the upstreams. */
  readonly calls: number;
  /** Answers that say that the gateway itself is at fault. */
  readonly defects: number;
  readonly before: Inside;
  /** Bytes resident at most during it; `null` if unknown, as for a process that has ended. */
  readonly peak: number | null;
  /** `null` when the process no longer says anything. */
  readonly after: Inside | null;
  readonly figures: readonly Figure[];
}

/** No request may hold up all others for longer. */
export const STALL_MS = 100;
const ATTACK_MS = 8000;
/** A gateway that answers nothing for so long after an attack is given up. */
const RECOVERY_MS = 1500;
/** How often it is looked whether memory has come back, after so much more traffic each time. */
const LOOKS = 4;
const READS_BETWEEN = 40;
/** Memory that has come back to this, over what it was, is back. */
const BACK = 1.05;
/** By how much more than a bare server's a wait can be the machine's doing: its cores are shared. */
const NOISE_RATIO = 10;
const ATTEMPTS = 3;
/** An attack and what follows are watched for so long in any case. */
const WATCHED_MS = 200;

/** The least that answers. */
const bareServer = `
const server = require('node:http').createServer((_, response) => response.end('ok'));
server.listen(0, '127.0.0.1', () => console.log('http://127.0.0.1:' + server.address().port + '/'));
`;

/** Everything around the gateways that are attacked, each of which is a process of its own. */
export class Stage {
  readonly #sandbox: Sandbox;
  readonly #bare: Running;
  readonly #bareUrl: string;
  readonly #folder = mkdtempSync(join(tmpdir(), 'attacks-'));

  private constructor(sandbox: Sandbox, bare: Running, bareUrl: string) {
    this.#sandbox = sandbox;
    this.#bare = bare;
    this.#bareUrl = bareUrl;
    writeFileSync(join(this.#folder, 'tokens.json'), tokensFile);
  }

  static async set(): Promise<Stage> {
    const bare = start(process.execPath, ['-e', bareServer], { cwd: '.', env: {} });
    const [url] = await bare.says(/http:\S+/);
    return new Stage(await startSandbox(), bare, url);
  }

  /**
   * Attacks a gateway that has just started; again when it stalled while the machine was busy. What the
   * attack itself does is there every time, so the attempt with the shortest stall counts.
   */
  async play(attack: Attack): Promise<Outcome> {
    let best = await this.#attempt(attack);
    for (let attempt = 1; attempt < ATTEMPTS && isNoise(best); attempt += 1) {
      const outcome = await this.#attempt(attack);
      if (outcome.livez.worst < best.livez.worst) best = outcome;
    }
    return best;
  }

  async end(): Promise<void> {
    this.#bare.child.kill('SIGKILL');
    await this.#bare.ended;
    await this.#sandbox.close();
    rmSync(this.#folder, { recursive: true });
  }

  async #attempt(attack: Attack): Promise<Outcome> {
    this.#sandbox.reset();
    const token = attack.readerToken ?? tokens.reader;
    const gateway = await GatewayProcess.start(await this.#environment(attack));
    const target = new Target(gateway.url, token);
    let watcher: Watcher<'livez' | 'bare' | 'reader'> | undefined;
    try {
      const expected = await learn(target, token);
      await attack.prepare?.(target);
      watcher = new Watcher({
        livez: { url: `${gateway.url}/livez`, pauseMs: 2 },
        bare: { url: this.#bareUrl, pauseMs: 2 },
        reader: reading(gateway.url, token, expected),
      });
      const before = await warm(gateway, target, token);
      for (const api of [this.#sandbox.links, this.#sandbox.market]) api.clearLog();
      gateway.forgetPeak();
      watcher.begin();
      const begun = performance.now();
      const figures = await within(attack, target, gateway);
      // What is over at once is watched for a while, so that the reader has asked at all.
      await sleep(Math.max(0, begun + WATCHED_MS - performance.now()));
      target.end();
      const answers = await answersSoon(gateway);
      const watched = await watcher.seen();
      const calls = this.#calls;
      const { defects } = target;
      const { lives, peak } = gateway;
      const after = answers ? await settled(gateway, token, before) : null;
      return { attack, ...watched, lives, calls, defects, before, peak, after, figures };
    } finally {
      target.end();
      await watcher?.end();
      await gateway.kill();
    }
  }

  get #calls(): number {
    const { links, market } = this.#sandbox;
    return links.requests.length + market.requests.length;
  }

  async #environment({ env = {} }: Attack): Promise<Readonly<Record<string, string>>> {
    const { links, market } = this.#sandbox;
    const byToken = { AUTH_MODE: 'token', AUTH_TOKENS_FILE: join(this.#folder, 'tokens.json') };
    const passed = env['AUTH_MODE'] === 'passthrough';
    return {
      LOG_LEVEL: 'silent',
      STATE_DIR: await ranBefore(),
      LINKS_BASE_URL: links.url,
      ...(passed ? {} : { LINKS_API_KEY: links.key }),
      MARKET_BASE_URL: market.url,
      MARKET_API_KEY: market.key,
      ...(env['AUTH_MODE'] === undefined ? byToken : {}),
      ...env,
    };
  }
}

/** Whether the machine may have made what looks like a stall. */
function isNoise({ bare, livez }: Outcome): boolean {
  const { worst } = livez;
  return worst > STALL_MS && worst < Math.max(2 * STALL_MS, NOISE_RATIO * bare.worst);
}

/** What the attack has found out, unless it takes too long or the process ends. */
async function within(
  attack: Attack,
  target: Target,
  gateway: GatewayProcess,
): Promise<readonly Figure[]> {
  const done = new AbortController();
  const deadline = sleep(attack.lastsMs ?? ATTACK_MS, undefined, { signal: done.signal });
  const late = Promise.race([deadline.catch(() => {}), gateway.ended]).then(() => []);
  const figures = await Promise.race([attack.run(target), late]);
  done.abort();
  return figures ?? [];
}

/** Whether the process still answers anything. */
async function answersSoon(gateway: GatewayProcess): Promise<boolean> {
  try {
    const response = await fetch(`${gateway.url}/livez`, {
      signal: AbortSignal.timeout(RECOVERY_MS),
    });
    await response.text();
    return true;
  } catch {
    // One that is about to end is not silent.
    await Promise.race([gateway.ended, sleep(RECOVERY_MS)]);
    return false;
  }
}

/** The process before an attack: what it uses has been compiled, and is cached. */
async function warm(gateway: GatewayProcess, target: Target, token: string): Promise<Inside> {
  await sendAll(150, 4, () => learn(target, token));
  await sendAll(20, 4, (index) => target.dryRun(`{ domains(first: ${index + 1}) { totalCount } }`));
  await sendAll(20, 4, (index) => target.ask(`{ nothing${index} }`));
  const inside = await gateway.inside();
  if (!inside) throw new Error('the gateway does not say what it holds');
  return inside;
}

/** The process after an attack, when its memory has come back, or does not seem to. */
async function settled(
  gateway: GatewayProcess,
  token: string,
  before: Inside,
): Promise<Inside | null> {
  const first = await gateway.inside();
  let last = first;
  for (let look = 1; last && last.held > BACK * before.held && look < LOOKS; look += 1) {
    const target = new Target(gateway.url, token);
    await sendAll(READS_BETWEEN, 4, () => learn(target, token).catch(() => {}));
    await target.wait(300);
    target.end();
    last = await gateway.inside();
  }
  return first && last && { ...last, longestTurnMs: first.longestTurnMs };
}
