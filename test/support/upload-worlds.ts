import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { PLENTY, type Row, startWorld, type World, type WorldOptions } from './gateway.ts';

/** A gateway that listens: uploads need a socket. */
interface UploadWorld {
  readonly world: World;
  readonly url: string;
}

/** The first of an account's files, and how many there are. */
interface Files {
  readonly files: { readonly totalCount: number; readonly nodes: readonly Row[] };
}

/** What the tests of uploads have in common. */
export interface UploadWorlds {
  /** The sandbox of all tests of a file, and a fresh gateway on it for each test. */
  readonly current: () => UploadWorld & { readonly sandbox: Sandbox };
  /** Opens another gateway, on the same sandbox unless `options` say how one of its own should be. */
  readonly open: (options?: WorldOptions) => Promise<UploadWorld>;
  /** The files that the graph lists, the newest first. */
  readonly listed: (of?: World) => Promise<Files['files']>;
  /** The uploads that reached the link API. */
  readonly received: (by?: Sandbox) => Sandbox['links']['requests'];
}

/** Opens what each test of this file needs, with these settings, and closes it afterwards. */
export function uploadWorlds(env: Readonly<Record<string, string>>): UploadWorlds {
  let sandbox: Sandbox;
  let current: UploadWorld;
  const opened: World[] = [];
  const open = async (options: WorldOptions = {}): Promise<UploadWorld> => {
    const world = await startWorld({
      ...(options.sandbox ? {} : { on: sandbox }),
      ...options,
      // No caller waits until the effect of a lost upload is looked for.
      env: { PORT: '0', writeSettleMs: '20000', ...env, ...options.env },
    });
    opened.push(world);
    return { world, url: (await world.gateway.listen()).url };
  };
  beforeAll(async () => {
    sandbox = await startSandbox({ limit: { requests: PLENTY } });
  });
  afterAll(() => sandbox.close());
  beforeEach(async () => {
    sandbox.reset();
    current = await open();
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((each) => each.close()));
  });
  const listing = '{ files(first: 1) { totalCount nodes { id name downloads shortUrl } } }';
  return {
    current: () => ({ ...current, sandbox }),
    open,
    listed: async (of = current.world) => (await of.data<Files>(listing)).files,
    received: (by = sandbox) => by.links.requests.filter(({ method }) => method === 'POST'),
  };
}

/** The code of the first error of an answer. */
export function code({ errors }: { errors?: readonly { extensions?: Row }[] }): unknown {
  return errors?.[0]?.extensions?.['code'];
}
