import { it } from 'vitest';
import { agentAttacks } from './attacks/agents.ts';
import { connectionAttacks } from './attacks/connections.ts';
import { dryRunAttacks } from './attacks/dry-runs.ts';
import { liveAttacks } from './attacks/live.ts';
import { operationAttacks } from './attacks/operations.ts';
import { pageAttacks } from './attacks/pages.ts';
import { type Outcome, Stage } from './attacks/stage.ts';
import { textAttacks } from './attacks/texts.ts';
import { unreadAttacks } from './attacks/unread.ts';
import { uploadAttacks } from './attacks/uploads.ts';
import { figuresOf, figuresOfAll } from './attacks/verdict.ts';
import { record } from './report/measurement.ts';

const attacks = [
  {
    name: 'quiet',
    about: 'Nobody attacks, for as long as most attacks take.',
    mayCall: 0,
    run: (target: { wait(ms: number): Promise<void> }) => target.wait(2000),
  },
  ...textAttacks,
  ...operationAttacks,
  ...dryRunAttacks,
  ...agentAttacks,
  ...unreadAttacks,
  ...liveAttacks,
  ...uploadAttacks,
  ...connectionAttacks,
  ...pageAttacks,
];

/** `ATTACKS=map,nodes npm run bench -- attacks` makes only these. */
const selected = process.env['ATTACKS']?.split(',');

it('can be neither stopped, stalled nor filled by whoever calls it', async () => {
  const chosen = attacks.filter(({ name }) => selected?.includes(name) ?? true);
  if (chosen.length === 0) throw new Error(`There are ${attacks.map(({ name }) => name).join()}.`);
  const outcomes: Outcome[] = [];
  const stage = await Stage.set();
  try {
    for (const attack of chosen) outcomes.push(await stage.play(attack));
  } finally {
    await stage.end();
  }
  record({
    bench: 'attacks',
    about: `Attacks a built gateway in ${chosen.length} ways, each with a new process and a sandbox outside it. A separate thread requests /livez, an honest reader requests cached data, and a bare server next to the gateway shows the load of the machine.`,
    figures: [...outcomes.flatMap(figuresOf), ...figuresOfAll(outcomes)],
  });
});
