import { expect, it } from 'vitest';
import { Stage } from '../story.ts';
import { Channels, done } from './channels.ts';

const stage = new Stage();
const channels = new Channels(stage);

/** Sends an update with an idempotency key. */
const setIf = (before: string, name: string, key: string) =>
  channels.ask({ name }, { name: before }, { headers: { 'idempotency-key': `"${key}"` } });

it('A retry with the key of an update that was made does not compare again', async () => {
  await channels.changeElsewhere({ name: 'A' });
  expect((await setIf('A', 'B', 'one')).data?.updated).toEqual(done);
  stage.world.forgetCalls();
  const again = await setIf('A', 'B', 'one');
  expect(again.data?.updated).toEqual(done);
  expect(JSON.parse(again.text).extensions.idempotency).toMatchObject([{ outcome: 'REPLAYED' }]);
  expect(stage.world.calls()).toEqual([]);
});

it('A conflict does not use the key up: the same update is made when the object is as expected', async () => {
  await channels.changeElsewhere({ name: 'Z' });
  const { data } = await setIf('A', 'B', 'two');
  expect(data?.updated).toMatchObject({ __typename: 'Conflict', current: { name: 'Z' } });
  await channels.change({ name: 'A' });
  expect((await setIf('A', 'B', 'two')).data?.updated).toEqual(done);
  expect(await channels.name()).toBe('B');
});

it('An update of an object that does not exist does not use the key up either', async () => {
  const input = { id: '999999', name: 'x' };
  const headers = { 'idempotency-key': '"three"' };
  const first = await channels.ask(input, { name: 'y' }, { headers });
  expect(first.data?.updated).toMatchObject({ __typename: 'Rejected' });
  const second = await channels.ask(input, { name: 'z' }, { headers });
  expect(second.errors).toEqual([]);
});

it('Another expectation is another input', async () => {
  await channels.changeElsewhere({ name: 'A' });
  expect((await setIf('A', 'B', 'four')).data?.updated).toEqual(done);
  stage.world.forgetCalls();
  const { errors } = await setIf('B', 'B', 'four');
  expect(errors[0]?.extensions).toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' });
  expect(stage.world.calls()).toEqual([]);
});
