import { expect, it } from 'vitest';
import { VirtualClock } from '../../../support/virtual-clock.ts';
import { passTime, Stage } from '../story.ts';
import { Channels, done } from './channels.ts';

const stage = new Stage();
const channels = new Channels(stage);

it.each([true, false])(
  'A retry of an update whose response was lost sends it once more if the object is as expected (applied: %s)',
  async (applied) => {
    const clock = new VirtualClock();
    const on = await stage.open({ clock, env: { LINKS_TIMEOUT_MS: '86400000' } });
    await channels.changeElsewhere({ name: 'A' });
    on.forgetCalls();
    const headers = { 'idempotency-key': '"lost"', prefer: 'wait=60' };
    const ask = () => passTime(clock, channels.ask({ name: 'B' }, { name: 'A' }, { on, headers }));
    stage.sandbox.links.fault({ kind: 'drop', applied, method: 'PUT', times: 1 });
    const unknown = { extensions: { code: 'OUTCOME_UNKNOWN' } };
    expect((await ask()).errors).toMatchObject([unknown]);
    // Others are kept from the object until then.
    await clock.advance(20_000);
    const { data, errors } = await ask();
    // The object can differ because the update was applied, so it is no conflict.
    if (applied) expect(errors).toMatchObject([unknown]);
    else expect(data?.updated).toEqual(done);
    expect(await channels.name()).toBe('B');
    expect(stage.written).toHaveLength(applied ? 1 : 2);
  },
);
