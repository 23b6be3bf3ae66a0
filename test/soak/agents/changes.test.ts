import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Agent, codeOf, type ToolResult } from '../../support/agent.ts';
import { KilledGateway } from '../jobs/killed-gateway.ts';

/** Changes, and kills of the process meanwhile; more in `npm run soak:agents`. */
const CHANGES = Number(process.env['AGENT_CHANGES'] ?? 150);
const KILLS = Number(process.env['AGENT_KILLS'] ?? 3);
const AGENTS = 8;
/** Shares of calls whose stream is cut: at any time, and when the change has just reached the API. */
const CUT = 0.3;
const CUT_SENT = 0.4;
const CUT_WITHIN_MS = 25;
/** How often an agent sends one change at most: a start takes some calls. */
const MOST_CALLS = 200;

const CREATE =
  'mutation Create($name: String!) { createChannel(input: { name: $name }) { ... on Channel { id name } } }';

it('A change of an agent is made once, although streams are cut and processes killed', async () => {
  const gateway = await KilledGateway.start({
    // The sandbox applies a request at once, or not at all.
    WRITE_RESEND_AFTER_MS: '200',
    CALLER_CLASSES: '{"agent": {"weight": 1}}',
  });
  const calls = { begun: 0, sent: 0, cut: 0, replayed: 0 };
  const ids = new Map<string, string>();

  /** Sends a change until its result is known. */
  const make = async (at: number): Promise<void> => {
    const variables = { name: `change-${at}` };
    // Half of the agents know keys, the others rely on the gateway.
    const key = at % 2 === 0 ? `key-${at}` : undefined;
    let confirmation: string | undefined;
    for (let call = 0; call < MOST_CALLS; call += 1) {
      const agent = new Agent(gateway.url);
      try {
        confirmation ??= await agent.confirm(CREATE, variables);
        const result = await sendOnce(agent, { operation: CREATE, variables, key, confirmation });
        if (!result) continue;
        const code = codeOf(result);
        if (code === undefined) {
          const channel = result.data['createChannel'] as { id: string; name: string };
          expect(channel.name).toBe(variables.name);
          if (result.text.includes('Nothing was changed now')) calls.replayed += 1;
          ids.set(variables.name, channel.id);
          return;
        }
        // Another process has another secret.
        if (code === 'CONFIRMATION_INVALID') confirmation = undefined;
        else if (code !== 'OUTCOME_UNKNOWN') throw new Error(result.text);
      } catch (error) {
        if (error instanceof Error && /expected|errors/.test(error.message)) throw error;
      }
      await pause(10);
    }
    throw new Error(`change ${at} has no result`);
  };

  /** Calls the tool; `null` if the stream was cut before the result. */
  const sendOnce = async (
    agent: Agent,
    args: Readonly<Record<string, unknown>> & { readonly variables: { readonly name: string } },
  ): Promise<ToolResult | null> => {
    calls.sent += 1;
    const cut = new AbortController();
    const stop = cutAtRandom(cut, () => isSent(gateway, args.variables.name));
    try {
      return await agent.call('graph_change', { ...args }, cut.signal);
    } catch (error) {
      if (!cut.signal.aborted) throw error;
      calls.cut += 1;
      return null;
    } finally {
      stop();
    }
  };

  const workers = Array.from({ length: AGENTS }, async () => {
    while (calls.begun < CHANGES) {
      calls.begun += 1;
      await make(calls.begun);
    }
  });
  let kills = 0;
  const killing = (async () => {
    while (kills < KILLS) {
      const until = ((kills + 1) * CHANGES) / (KILLS + 1);
      while (calls.begun < until) await pause(5);
      await pause(Math.random() * 50);
      await gateway.kill();
      kills += 1;
      await gateway.begin();
    }
  })();
  await Promise.all([...workers, killing]);

  const made = (await namesOfChannels(gateway)).filter((name) => name.startsWith('change-'));
  expect(made).toHaveLength(CHANGES);
  expect(new Set(made).size).toBe(CHANGES);
  expect(ids.size).toBe(CHANGES);
  expect(kills).toBe(KILLS);
  expect(calls.cut).toBeGreaterThan(CHANGES / 10);
  process.stdout.write(
    `${CHANGES} changes, ${kills} kills, ${calls.sent} calls, ${calls.cut} cut, ${calls.replayed} replayed, ${made.length - new Set(made).size} duplicates\n`,
  );
});

/** Cuts a stream at a random time, when its change is sent, or never; returns what cancels that. */
function cutAtRandom(cut: AbortController, sent: () => boolean): () => void {
  const dice = Math.random();
  if (dice < CUT) {
    const timer = setTimeout(() => cut.abort(), Math.random() * CUT_WITHIN_MS);
    return () => clearTimeout(timer);
  }
  if (dice > CUT + CUT_SENT) return () => {};
  const timer = setInterval(() => {
    if (sent()) cut.abort();
  }, 1);
  return () => clearInterval(timer);
}

/** Whether a change is among the latest requests that the API has received. */
function isSent({ sandbox: { links } }: KilledGateway, name: string): boolean {
  return links.requests
    .slice(-AGENTS)
    .some(({ body }) => (JSON.stringify(body) ?? '').includes(`"${name}"`));
}

/** The names of all channels, by the API itself. */
async function namesOfChannels({ sandbox: { links } }: KilledGateway): Promise<string[]> {
  const names: string[] = [];
  for (let page = 1; ; page += 1) {
    const response = await fetch(`${links.url}/api/channels?limit=100&page=${page}`, {
      headers: { authorization: `Bearer ${links.key}` },
    });
    const { data } = (await response.json()) as {
      data: { channels: readonly { readonly name: string }[]; maxpage: number };
    };
    names.push(...data.channels.map(({ name }) => name));
    if (page >= data.maxpage) return names;
  }
}
