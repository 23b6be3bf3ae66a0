/*
 * The usage of a day: a hash beside the state, which no other script uses. `n` is the number of its rows. For row
 * number 1 and so on, `i:<number>` has its name; `t:<name>` has its encrypted key, `c:<name>` the number of requests and
 * `s:<name>` the number of avoided ones. `b:<replica>:<number>` marks a batch of a replica that was added, until the
 * replica knows it: `a:<replica>` is the number of the latest such batch. The scripts need no permissions besides those
 * of the others.
 */

const begin = `#!lua flags=allow-oom
local function usageOf(day) return (string.gsub(KEYS[1], ':state$', string.format(':u:%.0f', day))) end
local day = tonumber(ARGV[1])
local usage = usageOf(day)
local function number(field) return tonumber(redis.call('HGET', usage, field) or 0) end
`;

/**
 * Adds a batch of a replica, unless it was added before. Arguments: day, number of days to keep, replica, number of the
 * batch, number up to which it knows that batches were added, maximum number of rows, and six for each row: name and key,
 * name and key if there are too many rows, requests and avoided requests. Returns 1, or 0 for a repeated batch.
 */
export const addUsage = `${begin}
local batch = 'b:' .. ARGV[3] .. ':'
if redis.call('HGET', usage, batch .. ARGV[4]) then return 0 end
local rows = number('n')
if rows == 0 then
  for past = ARGV[2], 2 * ARGV[2] do redis.call('DEL', usageOf(day - past)) end
end
redis.call('HSET', usage, batch .. ARGV[4], 1)
local known = redis.call('HGET', usage, 'a:' .. ARGV[3])
for each = (known or ARGV[5]) + 1, ARGV[5] do redis.call('HDEL', usage, batch .. each) end
if tonumber(ARGV[5]) > tonumber(known or -1) then redis.call('HSET', usage, 'a:' .. ARGV[3], ARGV[5]) end
for at = 7, #ARGV, 6 do
  local name, key = ARGV[at], ARGV[at + 1]
  if rows >= tonumber(ARGV[6]) and not redis.call('HGET', usage, 't:' .. name) then
    name, key = ARGV[at + 2], ARGV[at + 3]
  end
  if not redis.call('HGET', usage, 't:' .. name) then
    rows = rows + 1
    redis.call('HSET', usage, 't:' .. name, key)
    redis.call('HSET', usage, 'i:' .. rows, name)
    redis.call('HSET', usage, 'n', rows)
  end
  redis.call('HSET', usage, 'c:' .. name, string.format('%.0f', number('c:' .. name) + ARGV[at + 4]))
  redis.call('HSET', usage, 's:' .. name, string.format('%.0f', number('s:' .. name) + ARGV[at + 5]))
end
return 1
`;

/** The rows of a day: name, key, requests and avoided requests, one after the other. Argument: the day. */
export const usageOf = `${begin}
local found = {}
for row = 1, number('n') do
  local name = redis.call('HGET', usage, 'i:' .. row)
  for _, each in ipairs({name, redis.call('HGET', usage, 't:' .. name), number('c:' .. name), number('s:' .. name)}) do
    found[#found + 1] = each
  end
end
return found
`;
