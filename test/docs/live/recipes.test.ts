import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createClient } from 'graphql-sse';
import { EventSource } from 'undici';
import { describe, expect, it, vi } from 'vitest';
import { openDoor } from '../../support/door.ts';
import { start } from '../../support/process.ts';
import {
  type Campaigns,
  firstName,
  LIVE,
  recipeStage,
  until,
  WRONG,
} from '../support/live-recipes.ts';

const TSC = 'node_modules/typescript/bin/tsc';
const stage = recipeStage();

describe('the recipes of docs/live.md', () => {
  it('are all sound TypeScript', async () => {
    const compilerOptions = { lib: ['es2023', 'dom', 'dom.iterable'], types: [] };
    const config = {
      extends: join(process.cwd(), 'tsconfig.json'),
      compilerOptions,
      include: ['*.ts'],
    };
    writeFileSync(join(stage.folder, 'tsconfig.json'), JSON.stringify(config));
    expect(stage.names).toEqual(['campaigns.ts', 'apollo.ts', 'relay.ts']);
    const tsc = start(process.execPath, [TSC, '-p', stage.folder], { cwd: '.', env: {} });
    expect(await tsc.ended, tsc.output()).toBe(0);
  });

  it('bring a page what others change, share what is the same, and say why they end', async () => {
    type Result = { data: Campaigns };
    type Watch = (
      url: string,
      onResult: (result: Result) => void,
      onEnd: (end: { status: number; errors?: { extensions: object }[] }) => void,
      onBadge?: (badge: string) => void,
    ) => () => void;
    vi.stubGlobal('sessionStorage', { getItem: () => 'token' });
    const { watchCampaigns } = await stage.load<{ watchCampaigns: Watch }>('campaigns.ts');
    const results: Result[] = [];
    const badges: string[] = [];
    stage.ends.push(
      watchCampaigns(
        stage.url,
        (result) => results.push(result),
        () => {},
        (badge) => badges.push(badge),
      ),
    );
    await until(() => results.length, 1);
    expect(badges).toEqual(['Live']);
    await stage.rename('Spring sale');
    await until(() => firstName(results.at(-1)?.data), 'Spring sale');
    await stage.door.clock.advance(300_000);
    await until(() => badges, ['Live', 'Reconnecting', 'Live']);
    const [before, after] = results.map(({ data }) => data.campaigns.nodes);
    expect(after?.[1]).toBe(before?.[1]);
    for (const end of stage.ends.splice(0)) end();
    await until(stage.streams, 0);

    const strict = await openDoor({ AUTH_MODE: 'passthrough' });
    stage.ends.push(() => strict.close());
    const ended: unknown[] = [];
    watchCampaigns(
      `${strict.url}/graphql`,
      () => {},
      ({ errors }) => ended.push(errors?.[0]?.extensions),
    );
    await until(() => ended, [expect.objectContaining({ code: 'UPSTREAM_UNAUTHENTICATED' })]);
  });
});

it('EventSource reads results, comes back when a stream has come to its age, and is told its end', async () => {
  const open = (query: string) => {
    const source = new EventSource(`${stage.url}?${new URLSearchParams({ query })}`);
    stage.ends.push(() => source.close());
    return source;
  };
  const source = open(LIVE);
  const names: unknown[] = [];
  source.addEventListener('next', (event) => {
    names.push(firstName(JSON.parse((event as MessageEvent<string>).data).data));
  });
  await until(() => names, ['Closing sale, old shop']);
  await stage.door.clock.advance(300_000);
  await stage.rename('Spring sale');
  await until(() => names.at(-1), 'Spring sale');

  const complete = vi.fn();
  open(WRONG).addEventListener('complete', complete);
  await until(() => complete.mock.calls.length, 1);
});

describe('graphql-sse as it is', () => {
  it('reads the whole mode, through heartbeats and to its end', async () => {
    const client = createClient({ url: stage.url, retryAttempts: 0 });
    stage.ends.push(() => client.dispose());
    const seen: unknown[] = [];
    const complete = vi.fn();
    const stop = client.subscribe<Campaigns>(
      { query: LIVE },
      {
        next: ({ data }) => seen.push(firstName(data)),
        error: (error) => seen.push(error),
        complete,
      },
    );
    await until(() => seen, ['Closing sale, old shop']);
    await stage.door.clock.advance(15_000);
    await stage.rename('Spring sale');
    await until(() => seen, ['Closing sale, old shop', 'Spring sale']);
    stop();
    await until(stage.streams, 0);
    expect(complete).toHaveBeenCalledTimes(1);

    const refused = client.iterate({ query: WRONG });
    expect(await refused.next()).toMatchObject({ value: { errors: [{ message: /nome/ }] } });
  });

  it('comes back when a stream has come to its age', async () => {
    const client = createClient({ url: stage.url, retry: async () => {} });
    stage.ends.push(() => client.dispose());
    const seen: unknown[] = [];
    const connecting = vi.fn();
    const stop = client.subscribe<Campaigns>(
      { query: LIVE },
      {
        next: ({ data }) => seen.push(firstName(data)),
        error: (error) => seen.push(error),
        complete: () => {},
      },
      { connecting },
    );
    stage.ends.push(stop);
    await until(() => seen, ['Closing sale, old shop']);
    await stage.door.clock.advance(300_000);
    await until(() => connecting.mock.calls.length, 2);
    await stage.rename('Spring sale');
    await until(() => seen.at(-1), 'Spring sale');
  });
});
