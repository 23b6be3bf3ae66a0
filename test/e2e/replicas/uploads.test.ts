import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { describeWith, redisServer } from '../../support/needs.ts';
import { LIMIT, WINDOW_MS } from '../../support/replicas/cluster.ts';
import { Press } from '../../support/replicas/press.ts';
import { Scene } from '../../support/replicas/scene.ts';
import { mostHeld } from '../../support/replicas/window.ts';
import { beginUpload, uploadAnswer } from '../../support/uploads.ts';

/** Sends a file for two and a half windows, and answers the status that came of it. */
async function slowUpload(url: string, name: string): Promise<number> {
  const pieces = 25;
  const sent = beginUpload(url, `/files/${name}`, { 'content-length': pieces * 1000 });
  const answer = uploadAnswer(sent);
  for (let piece = 0; piece < pieces; piece += 1) {
    sent.write(Buffer.alloc(1000, piece));
    await pause((2.5 * WINDOW_MS) / pieces);
  }
  sent.end();
  return (await answer).status;
}

describeWith(redisServer, 'Uploads that take longer than a window', () => {
  it('hold their slots to their end, also where Redis forgets everything meanwhile', async () => {
    await using scene = await Scene.set();
    const { requests } = scene.upstream;
    const press = new Press(scene.cluster, { askers: 8 }, scene.roll);
    const uploads = scene.cluster.replicas.flatMap(({ url }, index) =>
      [0, 1].map((nth) => slowUpload(url, `file-${index}-${nth}.txt`)),
    );
    while (scene.upstream.requestsTo(/upload/).length < uploads.length) await pause(20);
    await pause(WINDOW_MS / 4);
    await scene.redis.command('FLUSHALL');
    await pause(WINDOW_MS / 2);
    await scene.redis.restart();
    expect(await Promise.all(uploads)).toEqual(uploads.map(() => 201));
    await pause(WINDOW_MS);
    await press.end();
    expect(mostHeld(requests, WINDOW_MS), scene.story(requests)).toBeLessThanOrEqual(LIMIT);
  });
});
