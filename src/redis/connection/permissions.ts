import type { RedisClient } from './client.ts';

/** Asks without doing anything: what is checked is the user, each command, and its keys and channels. */
const lua = `#!lua flags=no-writes,allow-oom
local denied = {}
for _, command in ipairs(cjson.decode(ARGV[1])) do
  if not redis.acl_check_cmd(unpack(command)) then denied[#denied + 1] = table.concat(command, ' ', 1, 2) end
end
return denied`;

/** The permissions that the user of a connection lacks. One round trip; changes nothing. */
export async function deniedTo(client: RedisClient, prefix: string): Promise<string[]> {
  const commands = JSON.stringify(commandsFor(`{${prefix}:1}`));
  return (await client.send(['EVAL', lua, '0', commands])) as string[];
}

/** Whatever the gateway and its scripts send, each with a key or channel that it would have. */
function commandsFor(base: string): string[][] {
  const [state, tags, entry] = [`${base}:state`, `${base}:tags`, `${base}:e:name`];
  const channel = `${base}:ch`;
  return [
    ['evalsha', '0'.repeat(40), '2', state, tags],
    ['eval', 'return 1', '2', state, tags],
    ['mget', entry],
    ['set', entry, '1', 'px', '1'],
    ['hget', state, '#'],
    ['hset', state, '#', '1'],
    ['hdel', state, '#'],
    ['del', state, tags],
    ['hrandfield', state],
    ['zadd', tags, '1', 'a'],
    ['zscore', tags, 'a'],
    ['zrange', tags, '0', '-1'],
    ['zcard', tags],
    ['zpopmin', tags],
    ['publish', channel, '1'],
    ['subscribe', channel],
    ['time'],
    ['info'],
  ];
}
