import { memory } from './memory.ts';

/**
 * What every script begins with: shared time, and whether Redis remembers.
 *
 * `#` is the epoch: {id, run, since, off, floor, n, low, print, c}. It stands in one hash with all budgets, so that
 * whatever loses a budget loses the epoch with it, and that is noticed. `run` is Redis' own name of its process:
 * asked each time, so that no proxy or reconnect can hide a restart.
 */
export const enter = `#!lua flags=allow-oom
local STATE, TAGS = KEYS[1], KEYS[2]
local CHANNEL, UPPER, ME, PRINT = ARGV[1], tonumber(ARGV[2]), ARGV[4], ARGV[5]
-- What the caller has seen: the epoch, and in it the number of its own latest script.
local SEEN, NUMBER = string.match(ARGV[3], '^([^/]*)/?(%d*)$')
NUMBER = tonumber(NUMBER) or 0
local E, now, late

-- What cannot be read is a loss of memory: nobody knows what it said.
local function unreadable()
  redis.call('DEL', STATE, TAGS)
  error({err = 'ERR what was there could not be read, and is forgotten'})
end
local function field(name, ...)
  local text = redis.call('HGET', STATE, name)
  if not text then return nil end
  local fine, value = pcall(cjson.decode, text)
  if not fine or type(value) ~= 'table' then unreadable() end
  for _, member in ipairs({...}) do
    if type(value[member]) ~= 'table' then unreadable() end
  end
  return value
end
local function put(name, value)
  if next(value) == nil then redis.call('HDEL', STATE, name)
  else redis.call('HSET', STATE, name, cjson.encode(value)) end
end
local function tell(message)
  redis.call('PUBLISH', CHANNEL, cjson.encode(message))
end

-- Whether another replica's lease runs.
local function liveAt(lives, id)
  return lives[id] and lives[id][1] > now
end

${memory}
-- False for a replica whose names of budgets are others than those in use: it would count elsewhere.
local function enter()
  local time = redis.call('TIME')
  local clock = time[1] * 1000 + math.floor(time[2] / 1000)
  local run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)') or '?'
  E = field('#')
  if E and not (tonumber(E.since) and tonumber(E.off) and tonumber(E.floor) and tonumber(E.n) and tonumber(E.low) and type(E.id) == 'string') then
    unreadable()
  end
  own = field('s:' .. ME)
  local lost = not E or E.run ~= run or isOlder() or tagsDiffer()
  if not lost and E.print ~= PRINT then
    local others = field('@') or {}
    now = clock + E.off
    for id in pairs(others) do if id ~= ME and liveAt(others, id) then return false end end
    lost = true
  end
  if lost then
    redis.call('DEL', STATE, TAGS)
    local number = math.max(generation(SEEN), E and generation(E.id) or 0) + 1
    local id = 'g' .. string.format('%.0f', number) .. '.' .. string.sub(run, 1, 8) .. '.' .. time[1] .. '.' .. time[2]
    E = {id = id, run = run, since = clock, off = 0, floor = clock, n = 0, low = 0, print = PRINT, c = 0}
    own = nil
  end
  E.c = (tonumber(E.c) or 0) + 1
  now = clock + E.off
  late = false
  -- Later than this replica can have lived to see: Redis' clock was set forward, or the command was under way too long.
  if UPPER > 0 and SEEN == E.id and now > UPPER then
    E.off = E.off - (now - UPPER)
    now = UPPER
    late = true
  end
  -- A clock set back neither frees slots nor stops time.
  if now < E.floor then
    E.off = E.off + (E.floor - now)
    now = E.floor
  end
  E.floor = now
  return true
end

local function leave()
  redis.call('HSET', STATE, '#', cjson.encode(E))
  saveSeen()
end

-- Makes every answer with one of these tags wrong that was asked for before now.
local TAGS_REMEMBERED = 10000
local function touch(tags)
  if #tags == 0 then return end
  E.n = E.n + 1
  for _, tag in ipairs(tags) do redis.call('ZADD', TAGS, E.n, tag) end
  local extra = redis.call('ZCARD', TAGS) - TAGS_REMEMBERED
  if extra > 0 then
    local popped = redis.call('ZPOPMIN', TAGS, extra)
    E.low = math.max(E.low, tonumber(popped[#popped]))
  end
  tell({kind = 'touch', epoch = E.id, n = E.n, tags = tags})
end

if not enter() then return {'differs'} end
`;
