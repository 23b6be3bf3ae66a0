import { scriptCommands } from '../lua/effects.ts';
import type { RedisNames } from '../names.ts';
import type { Command } from './client.ts';

/** Asks without doing anything: what is checked is the user, each command, and its keys and channels. */
const lua = `#!lua flags=no-writes,allow-oom
local denied = {}
for _, command in ipairs(cjson.decode(ARGV[1])) do
  if not redis.acl_check_cmd(unpack(command)) then denied[#denied + 1] = table.concat(command, ' ', 1, math.min(2, #command)) end
end
return denied`;

/**
 * The permissions that the user of a connection lacks, each as a command with the key or channel that it is lacking
 * for. One round trip; changes nothing. Rejects where it may not be asked, which takes `eval`.
 */
export async function deniedTo(
  send: (command: Command) => Promise<unknown>,
  names: RedisNames,
): Promise<string[]> {
  const reply = await send(['EVAL', lua, '0', JSON.stringify(commandsFor(names))]);
  return Array.isArray(reply) ? reply.map(String) : [];
}

/** Whatever the gateway and its scripts send, each with a key or channel that it would have. */
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
