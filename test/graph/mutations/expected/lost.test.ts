import { expect, it } from 'vitest';
import { VirtualClock } from '../../../support/virtual-clock.ts';
import { passTime, Stage } from '../story.ts';
import { Channels, done } from './channels.ts';

const stage = new Stage();
const channels = new Channels(stage);

it.each([true, false])(
  'A retry finds what became of an update whose response was lost (applied: %s)',
  async (applied) => {
    const clock = new VirtualClock();
    const on = await stage.open({ clock, env: { LINKS_TIMEOUT_MS: '86400000' } });
    await channels.changeElsewhere({ name: 'A' });
    on.forgetCalls();
    const headers = { 'idempotency-key': '"lost"', prefer: 'wait=60' };
    const ask = () => channels.ask({ name: 'B' }, { name: 'A' }, { on, headers });
    stage.sandbox.links.fault({ kind: 'drop', applied, method: 'PUT', times: 1 });
    let answer = await passTime(clock, ask());
    for (let n = 0; answer.errors.length > 0 && n < 3; n += 1) {
      await clock.advance(31_000);
      answer = await passTime(clock, ask());
    }
    expect(answer.data?.updated).toEqual(done);
    const outcome = applied ? 'RECONCILED' : 'EXECUTED';
    expect(JSON.parse(answer.text).extensions.idempotency).toMatchObject([{ outcome }]);
    expect(await channels.name()).toBe('B');
    expect(stage.written).toHaveLength(applied ? 1 : 2);
  },
);
