import type { Config } from './config/config.ts';
import { endpointsOf, secretsOf } from './config/endpoints.ts';
import { reasonOf } from './errors.ts';
import { createGateway, type Gateway } from './gateway.ts';
import { Origins } from './http/door/origins.ts';
import { Forwarding } from './http/forward.ts';
import { createPorts, type Ports } from './http/server.ts';
import { waitingHandler } from './http/waiting.ts';
import { EventStream } from './observe/event-stream.ts';
import { createLog, type LogStream } from './observe/log/logger.ts';
import { createScrub } from './observe/log/scrub.ts';
import { inBackground } from './scheduling/at-once.ts';
import { pause, systemClock } from './scheduling/clock.ts';
import { type Owner, StoreError } from './store/engine.ts';
import {
  newStore,
  type OwnedStore,
  openStore,
  ownerAt,
  placeOf,
  type WaitingStore,
} from './store/open-store.ts';

/** A store that cannot be opened is tried again after this time, in milliseconds. */
const RETRY_MS = 1000;
const UNSAVED =
  'Nothing is saved: each start uses only half of each rate limit for one window, or until the API reports what remains, and forgets idempotency keys, usage and jobs.';

/** A serving process: it owns the store, or forwards to the process that does and takes over when that ends. */
export interface Member extends Pick<Gateway, 'reportDefect' | 'logStop'> {
  /** Facts about the start for the operator. */
  report(): string[];
  logStart(): void;
  /** Lets running requests finish, saves the state, and lets another process own the store. */
  close(): Promise<void>;
}

/**
 * Listens, and then owns the store or waits for it: its ports stay open when it becomes the owner, and answer all along.
 * @throws ListenError when a configured address cannot be had.
 */
export async function startMember(config: Config, log: LogStream): Promise<Member> {
  const { metricsPort, shutdownGraceMs: graceMs } = config;
  const ports = createPorts(metricsPort !== null, { clock: systemClock, graceMs });
  const member = new ServingProcess(config, ports, log);
  await member.start();
  return member;
}

class ServingProcess implements Member {
  readonly #config: Config;
  readonly #ports: Ports;
  readonly #log: LogStream;
  /** The log until this process owns the store. */
  readonly #events = new EventStream();
  readonly #forwarding: Forwarding;
  readonly #stop = new AbortController();
  #url = '';
  /** The store while another process owns it. */
  #waiting: WaitingStore | null = null;
  /** This process as the owner; `null` while it waits. */
  #self: Owner | null = null;
  #gateway: Gateway | null = null;
  /** Ends when this process owns the store or stops. */
  #taking: Promise<void> = Promise.resolve();
  /** The latest complaint since the store could be used. */
  #told = '';
  #closing: Promise<void> | undefined;

  constructor(config: Config, ports: Ports, log: LogStream) {
    this.#config = config;
    this.#ports = ports;
    this.#log = log;
    const level = config.logLevel;
    const scrub = createScrub(secretsOf(config, endpointsOf(config, null)));
    this.#events.add(createLog({ level, stream: log, scrub, clock: systemClock }));
    this.#forwarding = new Forwarding({
      clock: systemClock,
      maxWaitMs: config.maxWaitMs,
      operations: config.persistedOperations,
      owner: () => this.#owner(),
    });
  }

  async start(): Promise<void> {
    const { host, metricsPort, port } = this.#config;
    const { callers, operators } = this.#ports;
    this.#answerByForwarding();
    if (operators && metricsPort !== null)
      await operators.listen(metricsPort, host, 'METRICS_PORT');
    ({ url: this.#url } = await callers.listen(port, host));
    await this.#begin();
  }

  report(): string[] {
    const waits = `GraphQL   ${this.#url}/graphql  (forwards to the owner of the store)`;
    return this.#gateway?.report() ?? [waits];
  }

  logStart(): void {
    this.#gateway?.logStart();
  }

  logStop(message: 'stopping' | 'stopped', facts?: { readonly signal: string }): void {
    if (this.#gateway) this.#gateway.logStop(message, facts);
    else this.#events.emit('notice', { message, ...(facts && { facts }) });
  }

  reportDefect(error: unknown): void {
    if (this.#gateway) this.#gateway.reportDefect(error);
    else this.#events.emit('defect', { error });
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#stop.abort();
    await this.#taking;
    this.#forwarding.endStreams();
    if (this.#gateway) await this.#gateway.close();
    else {
      const { callers, operators } = this.#ports;
      await Promise.all([callers.close(), operators?.close()]);
    }
    await this.#forwarding.close();
  }

  /**
   * Owns the store of the settings, or begins to wait for it.
   * @throws StoreError if a newer version has written it.
   */
  async #begin(): Promise<void> {
    const url = this.#config.advertiseUrl ?? addressOf(this.#url, this.#config.host);
    const opened = await this.#open(url);
    if (opened === null) return;
    if ('waiting' in opened) {
      this.#waiting = opened.waiting;
      this.#taking = this.#waitFor(opened.waiting);
    } else await this.#own(opened.owned);
  }

  /**
   * A folder that cannot be used is replaced by memory; a database is waited for, since others may use it. `null` if this
   * process stops before.
   */
  async #open(url: string): Promise<Awaited<ReturnType<typeof openStore>> | null> {
    const { databaseUrl, sandbox, stateDir } = this.#config;
    if (sandbox) return { owned: { store: newStore(systemClock), owner: ownerAt(url) } };
    const complain = (sentence: string): void => this.#events.emit('complaint', { sentence });
    const options = { url, clock: systemClock, complain };
    const place = placeOf(databaseUrl, stateDir);
    while (!this.#stop.signal.aborted) {
      try {
        return await openStore({ ...options, place });
      } catch (error) {
        if (!(error instanceof StoreError) || error.fault === 'NEWER') throw error;
        if (place.kind === 'folder') {
          complain(`${error.message} ${UNSAVED}`);
          return openStore({ ...options, place: { kind: 'memory' } });
        }
        this.#complain(error.message);
        await pause(systemClock, RETRY_MS);
      }
    }
    return null;
  }

  /** Reports why the store cannot be used: once until it can be. */
  #complain(sentence: string): void {
    if (sentence !== this.#told) this.#events.emit('complaint', { sentence });
    this.#told = sentence;
  }

  async #waitFor(waiting: WaitingStore): Promise<void> {
    const owner = (await waiting.owner())?.url ?? 'not known';
    const facts = { url: `${this.#url}/graphql`, owner };
    this.#events.emit('notice', { message: 'waiting for the store', facts });
    inBackground(this.#warmUp());
    const unwatch = this.#forwarding.watch((isNew) => {
      const sentence =
        'The process that owns the store does not answer. If it is suspended, end it.';
      if (isNew) this.#events.emit('complaint', { sentence });
      inBackground(waiting.depose());
    });
    const owned = await this.#take(waiting);
    unwatch();
    if (!owned) return;
    this.#events.emit('notice', { message: 'owns the store' });
    if (this.#stop.signal.aborted) await owned.store.close();
    else await this.#own(owned);
  }

  /** Compiles what an owner needs, so that taking over is only reading the store: a gateway in memory sends nothing. */
  async #warmUp(): Promise<void> {
    const config = { ...this.#config, historyWatch: [], metricsPort: null };
    const gateway = await createGateway(config);
    await gateway.fetch(new Request('http://localhost/graphql?query={__typename}'));
    await gateway.leave();
  }

  /** Tries until this process owns the store; `null` if it stops before. */
  async #take(waiting: WaitingStore): Promise<OwnedStore | null> {
    const { signal } = this.#stop;
    for (;;) {
      try {
        return await waiting.own(signal, () => void (this.#told = ''));
      } catch (error) {
        if (signal.aborted) return null;
        this.#complain(reasonOf(error));
        await pause(systemClock, RETRY_MS);
      }
    }
  }

  async #own({ owner, store }: OwnedStore): Promise<void> {
    this.#self = owner;
    this.#waiting = null;
    const gateway = await createGateway(this.#config, {
      log: this.#log,
      ports: this.#ports,
      store,
      owner,
    });
    this.#gateway = gateway;
    inBackground(store.lost.then(() => this.#lose(gateway)));
    await gateway.listen();
  }

  /** Another process has owned the store, or its folder is gone: this one begins again with what is in it now. */
  async #lose(gateway: Gateway): Promise<void> {
    if (this.#stop.signal.aborted) return;
    this.#self = null;
    this.#gateway = null;
    this.#answerByForwarding();
    const beginning = (async () => {
      await gateway.leave();
      await this.#begin();
    })();
    this.#taking = beginning;
    await beginning;
  }

  /** The owner that answers: none while this process prepares to be it. */
  async #owner(): Promise<Owner | null> {
    if (this.#self) return this.#gateway ? this.#self : null;
    return (await this.#waiting?.owner()) ?? null;
  }

  #answerByForwarding(): void {
    const { callers, operators } = this.#ports;
    const forwarding = this.#forwarding;
    const options = {
      forwarding,
      metrics: {
        async render() {
          const { createWaitingMetrics } = await import('./observe/metrics/waiting-metrics.ts');
          return createWaitingMetrics(forwarding.counts).render();
        },
      },
      origins: new Origins(this.#config.corsOrigins, {
        loopback: this.#config.sandbox,
        onRefused() {},
      }),
      access: this.#config.metrics,
      isStarting: () => this.#waiting === null,
      ownerUrl: async () => (await this.#owner())?.url ?? null,
    };
    callers.handle = waitingHandler(callers, operators ? 'callers' : 'all', options);
    if (operators) operators.handle = waitingHandler(operators, 'operators', options);
  }
}

/** Where other processes on this machine reach a server that listens on a host. */
function addressOf(url: string, host: string): string {
  const { port } = new URL(url);
  const local: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '[::1]' };
  const name = local[host] ?? (host.includes(':') ? `[${host}]` : host);
  return `http://${name}:${port}`;
}
