import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/sandbox.ts';
import { PLENTY } from './gateway.ts';
import { GATEWAY, type Running, start } from './process.ts';

/** One gateway process on a folder that others use too. */
export interface Member {
  readonly running: Running;
  readonly url: string;
  /** Kills it at once. */
  kill(): Promise<unknown>;
  /** Stops it as a deploy does. */
  stop(): Promise<unknown>;
}

/** Built gateways on one folder, in front of a sandbox of this process. */
export interface Household {
  readonly sandbox: Sandbox;
  /** The folder that all share. */
  readonly state: string;
  /** Starts another one. The first owns the store. */
  join(env?: Readonly<Record<string, string>>): Promise<Member>;
  close(): Promise<void>;
}

/** Opens a folder without any process; `common` is of the environment of each. */
export async function openHousehold(
  common: Readonly<Record<string, string>> = {},
  limit: SandboxOptions['limit'] = { requests: PLENTY },
): Promise<Household> {
  const sandbox = await startSandbox({ limit });
  const folder = mkdtempSync(join(tmpdir(), 'owner-'));
  const members: Member[] = [];
  return {
    sandbox,
    state: join(folder, 'state'),
    async join(env = {}) {
      const running = start(process.execPath, GATEWAY, {
        cwd: '.',
        env: {
          PORT: '0',
          AUTH_MODE: 'none',
          LINKS_BASE_URL: sandbox.links.url,
          LINKS_API_KEY: sandbox.links.key,
          LINKS_RATE_LIMIT: String(PLENTY),
          STATE_DIR: join(folder, 'state'),
          ...common,
          ...env,
        },
      });
      const [, address = ''] = await running.says(/(http:\/\/localhost:\d+)\/graphql/);
      const end = (signal: NodeJS.Signals) => {
        running.child.kill(signal);
        return running.ended;
      };
      const member: Member = {
        running,
        url: address.replace('localhost', '127.0.0.1'),
        kill: () => end('SIGKILL'),
        stop: () => end('SIGTERM'),
      };
      members.push(member);
      return member;
    },
    async close() {
      await Promise.all(members.map((each) => each.kill()));
      await sandbox.close();
      rmSync(folder, { recursive: true });
    },
  };
}
