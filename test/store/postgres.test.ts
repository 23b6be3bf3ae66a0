import { afterAll, beforeAll, expect, it } from 'vitest';
import { systemClock } from '../../src/scheduling/clock.ts';
import { StoreError } from '../../src/store/engine.ts';
import { openStore } from '../../src/store/open-store.ts';
import { describeWith, postgresServer } from '../support/needs.ts';
import { PostgresServer } from '../support/postgres-server.ts';
import { holdsWhatAMapHolds, owned } from './law.ts';

describeWith(postgresServer, 'A store in PostgreSQL', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await PostgresServer.run();
  });
  afterAll(() => server.close());
  const place = () => ({ kind: 'postgres', url: server.url }) as const;
  const open = () =>
    openStore({
      place: place(),
      url: 'http://127.0.0.1:2',
      clock: systemClock,
      complain: () => {},
    });

  it('holds what a map would hold, over restarts', () => holdsWhatAMapHolds(place(), 40));

  it('has one owner, and the next as soon as it has closed', async () => {
    const first = await owned(place());
    const second = await open();
    if (!('waiting' in second)) throw new Error('two owners');
    expect(await second.waiting.owner()).toEqual(first.owner);
    const owning = second.waiting.own(new AbortController().signal);
    first.store.put('a', 'last words');
    await first.store.close();
    const { owner, store } = await owning;
    expect(String(await store.get('a'))).toBe('last words');
    expect(owner.url).toBe('http://127.0.0.1:2');
    await store.close();
  });

  it('stops waiting when it is told', async () => {
    const first = await owned(place());
    const second = await open();
    if (!('waiting' in second)) throw new Error('two owners');
    const controller = new AbortController();
    const owning = second.waiting.own(controller.signal);
    const reason = new Error('not any more');
    controller.abort(reason);
    await expect(owning).rejects.toBe(reason);
    await first.store.close();
    const { store } = await owned(place());
    await store.close();
  });

  it('deposes an owner, whose later changes are lost and known to be', async () => {
    const complaints: string[] = [];
    const first = await owned(place(), (sentence) => complaints.push(sentence));
    first.store.put('b', 'before');
    await first.store.committed();
    const second = await open();
    if (!('waiting' in second)) throw new Error('two owners');
    const owning = second.waiting.own(new AbortController().signal);
    expect(await second.waiting.depose()).toBe(true);
    const { store } = await owning;
    // Known before anything is written.
    await expect.poll(() => first.store.fault).not.toBeNull();
    first.store.put('b', 'after');
    await expect(first.store.saved()).rejects.toBeInstanceOf(StoreError);
    await expect(first.store.lost).resolves.toMatchObject({ fault: 'LOST' });
    first.store.put('b', 'later');
    await expect(first.store.committed()).rejects.toMatchObject({ fault: 'LOST' });
    expect(String(await store.get('b'))).toBe('before');
    expect(complaints).toEqual([
      expect.stringContaining('the session has ended'),
      expect.stringContaining('Another process'),
    ]);
    await first.store.close();
    await store.close();
  });

  it('goes on after a restart of its server, with what it could not write', async () => {
    const { store } = await owned(place());
    store.put('c', 'kept');
    await store.committed();
    await server.kill();
    store.put('c', 'later');
    // Another process could own it: nothing may be sent.
    await expect(store.saved()).rejects.toMatchObject({ fault: 'UNAVAILABLE' });
    await expect(owned(place())).rejects.toMatchObject({ fault: 'UNAVAILABLE' });
    await server.start();
    await expect.poll(() => store.fault, { timeout: 10_000 }).toBeNull();
    await store.saved();
    await store.close();
    const { store: next } = await owned(place());
    expect(String(await next.get('c'))).toBe('later');
    expect(next.knownSince).toBe(store.knownSince);
    await next.close();
  });

  it('is owned by one that waited while its server restarted', async () => {
    const first = await owned(place());
    const second = await open();
    if (!('waiting' in second)) throw new Error('two owners');
    await server.kill();
    await first.store.close();
    const { signal } = new AbortController();
    await expect(second.waiting.own(signal)).rejects.toMatchObject({ fault: 'UNAVAILABLE' });
    await server.start();
    const { store } = await second.waiting.own(signal);
    await store.close();
  });
});
