import { afterEach, beforeEach, expect, it } from 'vitest';
import { warmUp } from '../../src/start/warm-up.ts';

/** Where an SDK of OpenTelemetry registers itself, which tests of spans do as well. */
const world: Record<symbol, unknown> = globalThis;
const sdk = Symbol.for('opentelemetry.js.api.1');
const registered = world[sdk];

beforeEach(() => {
  Reflect.deleteProperty(world, sdk);
});

afterEach(() => {
  Reflect.deleteProperty(world, sdk);
  if (registered !== undefined) world[sdk] = registered;
});

it('asks a gateway of its own for dashboards, all of which are whole', async () => {
  const answers = await warmUp();
  expect(answers).toHaveLength(2);
  for (const answer of answers) {
    const { data, errors } = JSON.parse(answer);
    expect(errors).toBeUndefined();
    expect(data.channels.nodes).toHaveLength(10);
    expect(data.channels.nodes[9].items.nodes).toHaveLength(5);
  }
});

it('does nothing where an SDK would make spans of it', async () => {
  world[sdk] = {};
  expect(await warmUp()).toEqual([]);
});
