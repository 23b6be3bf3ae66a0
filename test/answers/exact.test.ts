import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Door } from '../support/door.ts';
import { rounds } from '../support/rounds.ts';
import { compare, wholePath } from './exact/compare.ts';
import { anyPlay } from './exact/play.ts';
import { type Asked, Scene } from './exact/scene.ts';

describe('A response', () => {
  it('is the same on every path, for every sender and origin', async () => {
    let compared = 0;
    let fromMemory = 0;
    await fc.assert(
      fc.asyncProperty(anyPlay, async ({ mode, operations: asked, steps }) => {
        const scene = await new Scene(mode).open();
        const { door } = scene;
        let ofThis = 0;
        try {
          for (const each of asked) await scene.persist(each);
          for (const each of steps) {
            if (each.kind === 'wait') await door.clock.advance(each.ms);
            else if (each.kind === 'role') await scene.change(each.caller, each.role);
            else if (each.kind === 'rename') await scene.rename(each.name);
            else if (each.kind === 'elsewhere') await scene.renameElsewhere(each.name);
            else ofThis += await compare(scene, asked[each.operation] as Asked, each.senders);
          }
          const given = await remembered(door);
          fromMemory += given;
          compared += ofThis;
          for (const each of asked) await wholePath(scene, each);
          // Else nothing was compared with anything.
          expect(await remembered(door)).toBe(given);
        } finally {
          await scene.close();
        }
      }),
      {
        numRuns: rounds(4),
        // A fault is reported as small as it could be made until then: each attempt takes a gateway of its own.
        interruptAfterTimeLimit: rounds(60_000),
      },
    );
    // A few plays vary: between a sixth and more than half of their responses.
    expect(fromMemory).toBeGreaterThan(compared / 10);
  });
});

/** How many answers were given from remembered bytes. */
async function remembered({ url }: Door): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/^gateway_remembered_answers_total (\d+)/m.exec(text)?.[1]);
}
