import { afterAll, afterEach, beforeAll } from 'vitest';
import type { Overrides } from '../../../src/gateway.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import { openSandbox, startWorld, type World } from '../../support/gateway.ts';

/** Every field of Query that asks an upstream, by the upstream. */
export const fields: Readonly<Record<'links' | 'market', readonly string[]>> = {
  links: [
    'account { id }',
    'domains { totalCount }',
    'overlays { totalCount }',
    'campaigns { totalCount }',
    'campaign(id: 1) { name }',
    'channels { totalCount }',
    'channel(id: 1) { name }',
    'items_of_channel: channel(id: 21) { items { totalCount } }',
    'splashPages { totalCount }',
    'files { totalCount }',
    'pixels { totalCount }',
    'qrCodes { totalCount }',
    'qrCode(id: 301) { name }',
    'statistics: qrCode(id: 302) { statistics { clicks } }',
    'plans { id }',
    'users { id }',
    'user(id: 12) { id }',
    'node(id: "UGl4ZWw6Mjc") { id }',
  ],
  market: [
    'seller { email }',
    'items { totalCount }',
    'item(id: 204117) { name }',
    'purchase(code: "7c0e2f64-3b1d-4c57-9a6e-51f0d2b8e913") { code }',
  ],
};

/** Settings of a gateway that soon gives up an upstream which does not answer. */
export const impatient = { LINKS_TIMEOUT_MS: '300', MARKET_TIMEOUT_MS: '300' };

/** One sandbox for all tests of a file, as new for each, and gateways on it. */
export class FailureStage {
  #sandbox: Sandbox | undefined;
  readonly #worlds: World[] = [];

  constructor() {
    beforeAll(async () => {
      this.#sandbox = await openSandbox();
    });
    afterEach(async () => {
      await Promise.all(this.#worlds.splice(0).map((world) => world.close()));
      this.sandbox.reset();
    });
    afterAll(() => this.sandbox.close());
  }

  get sandbox(): Sandbox {
    if (!this.#sandbox) throw new Error('asked before the first test');
    return this.#sandbox;
  }

  /** A gateway that knows nothing yet. */
  async start(
    env: Readonly<Record<string, string>> = {},
    only?: 'links' | 'market',
    overrides: Overrides = {},
  ): Promise<World> {
    const world = await startWorld({
      ...overrides,
      on: this.sandbox,
      // No caller waits until the effect of a lost write is looked for.
      env: { writeSettleMs: '20000', ...env },
      ...(only ? { only } : {}),
    });
    this.#worlds.push(world);
    return world;
  }
}
