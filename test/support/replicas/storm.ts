import { setTimeout as pause } from 'node:timers/promises';
import { type Fault, faults } from './faults.ts';
import type { Scene } from './scene.ts';

/**
 * Lets faults happen at random for so long: to the replicas or their upstream, to Redis, and to the links
 * between them, each in an order of its own, so that up to three happen at a time. Reports which were when.
 */
export async function storm(scene: Scene, forMs: number): Promise<string[]> {
  const { roll } = scene;
  const end = performance.now() + forMs;
  const events: string[] = [];
  const sequence = async (parties: readonly Fault['party'][], restMs: number): Promise<void> => {
    const possible = faults.filter(
      ({ party, failover }) => parties.includes(party) && (!failover || scene.follower),
    );
    while (performance.now() < end) {
      await pause(roll(restMs));
      const fault = possible[roll(possible.length)];
      const began = performance.now();
      await fault?.strike(scene);
      events.push(`${began.toFixed(0)} .. ${performance.now().toFixed(0)} ${fault?.name}`);
    }
  };
  const sequences = await Promise.allSettled([
    sequence(['replica', 'upstream'], 4000),
    // The slot that is kept free for a replica that sleeps in such a turn is kept in Redis: what makes Redis lose its
    // memory while it sleeps lets that one request through, so these do not happen at a time.
    sequence(['redis', 'turn'], 10_000),
    sequence(['link'], 6000),
  ]);
  // None goes on behind one that has failed.
  for (const each of sequences) if (each.status === 'rejected') throw each.reason;
  return events;
}
