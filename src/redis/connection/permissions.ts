import type { Clock } from '../../scheduling/clock.ts';
import { RedisRefused } from '../failures.ts';
import { scriptCommands } from '../lua/effects.ts';
import type { Command } from './client.ts';
import type { RedisNames } from './names.ts';

/** Checks without any effect: the user, each command, and its keys and channels. */
const lua = `#!lua flags=no-writes,allow-oom
local denied = {}
for _, command in ipairs(cjson.decode(ARGV[1])) do
  if not redis.acl_check_cmd(unpack(command)) then denied[#denied + 1] = table.concat(command, ' ', 1, math.min(2, #command)) end
end
return denied`;

/**
 * The permissions that the user of a connection lacks, each as a command with the missing key or channel. One
 * round trip; changes nothing. Rejects if the check is not permitted, which needs `eval`.
 */
export async function deniedTo(
  send: (command: Command) => Promise<unknown>,
  names: RedisNames,
): Promise<string[]> {
  const reply = await send(['EVAL', lua, '0', JSON.stringify(commandsFor(names))]);
  return Array.isArray(reply) ? reply.map(String) : [];
}

/** All commands of the gateway and its scripts, each with a possible key or channel. */
function commandsFor({ channel, entry, keys: [state, tags] }: RedisNames): string[][] {
  const answer = entry('name');
  const words: Readonly<Record<string, string>> = { STATE: state, TAGS: tags, CHANNEL: channel };
  return [
    ['evalsha', '0'.repeat(40), '2', state, tags],
    ['eval', 'return 1', '2', state, tags],
    ['mget', answer],
    ['set', answer, '1', 'px', '1'],
    ['subscribe', channel],
    ...scriptCommands.map((command) => command.map((word) => words[word] ?? word)),
  ];
}

interface PermissionWatchOptions {
  readonly clock: Clock;
  /** The permissions that are lacking now, in one round trip. Rejects if that cannot be checked. */
  readonly ask: () => Promise<readonly string[]>;
  /** Called with the missing permissions when they change; empty if none is missing. */
  readonly changed: (denied: readonly string[]) => void;
}

/** Pause between checks while a permission is lacking, in milliseconds: an operator may be granting it. */
const ASK_AGAIN_MS = 1000;

/**
 * Tracks which permissions the user of the connection lacks: checked once for each connection, whenever Redis
 * refuses a command for lack of one, and repeatedly while one is lacking. At most one check is running.
 */
export class PermissionWatch {
  readonly #options: PermissionWatchOptions;
  #denied: readonly string[] = [];
  #asking = false;
  #askAgain = false;
  #cancel = (): void => {};
  #closed = false;

  constructor(options: PermissionWatchOptions) {
    this.#options = options;
  }

  /** Checks the permissions. Never rejects. */
  async look(ask = this.#options.ask): Promise<void> {
    if (this.#closed) return;
    if (this.#asking) {
      this.#askAgain = true;
      return;
    }
    this.#cancel();
    this.#asking = true;
    this.#askAgain = false;
    try {
      this.#learn(await ask());
    } catch (error) {
      // The check needs only `eval`.
      if (error instanceof RedisRefused && error.message.startsWith('NOPERM'))
        this.#learn(['eval']);
    }
    this.#asking = false;
    if (this.#closed || (this.#denied.length === 0 && !this.#askAgain)) return;
    this.#cancel = this.#options.clock.after(ASK_AGAIN_MS, () => void this.look());
  }

  /** Ends the checks. */
  close(): void {
    this.#closed = true;
    this.#cancel();
  }

  #learn(denied: readonly string[]): void {
    if (this.#closed || denied.join() === this.#denied.join()) return;
    this.#denied = denied;
    this.#options.changed(denied);
  }
}
