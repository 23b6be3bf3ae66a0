import { memory } from './memory.ts';

/**
 * What every script begins with: shared time, and whether Redis remembers.
 *
 * `#` is the epoch: {id, run, since, off, floor, n, low, print, c}. It stands in one hash with all budgets, so that
 * whatever loses a budget loses the epoch with it, and that is noticed. `run` is Redis' own name of its process:
 * asked each time, so that no proxy or reconnect can hide a restart.
 */
export const enter = `
-- Between what the shared clock must be when this script begins, as far as the caller knows.
local UPPER, LOWER = string.match(ARGV[2], '^(%d+)/?(%d*)$')
UPPER, LOWER = tonumber(UPPER) or 0, tonumber(LOWER) or 0
local ME, PRINT = ARGV[4], ARGV[5]
-- What the caller has seen: the epoch, and in it the number of its own latest script.
local SEEN, NUMBER = string.match(ARGV[3], '^([^/]*)/?(%d*)$')
NUMBER = tonumber(NUMBER) or 0
local now, late

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
    forget()
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
  -- Earlier than it certainly is: scripts that were late have held it up. What was noted meanwhile is off by no more than
  -- the way back of a reply, which the margin of a slot is for.
  if SEEN == E.id and now < LOWER then
    E.off = E.off + (LOWER - now)
    now = LOWER
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
  saveSeen()
  change()
end

if not enter() then return {'differs'} end
`;
