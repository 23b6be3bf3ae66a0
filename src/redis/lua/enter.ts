import { memory } from './memory.ts';
import { prints } from './prints.ts';

/**
 * The beginning of every script: shared time, and whether Redis has kept its data.
 *
 * `#` is the epoch: {id, run, since, off, floor, n, low, print, c, left, lost}. It is in one hash with all
 * documents, so that the loss of a document is the loss of the epoch too, and is detected. `run` is Redis' own
 * name of its process: read each time, so that no proxy or reconnect can hide a restart.
 */
export const enter = `
-- Between what the shared clock must be when this script begins, as far as the caller knows.
local UPPER, LOWER = string.match(ARGV[2], '^(%d+)/?(%d*)$')
UPPER, LOWER = tonumber(UPPER) or 0, tonumber(LOWER) or 0
local ME, PRINT = ARGV[4], ARGV[5]
-- What the caller has seen: the epoch, and in it the number of its own latest script.
local SEEN, NUMBER = string.match(ARGV[3], '^([^/]*)/?(%d*)$')
NUMBER = tonumber(NUMBER) or 0
local now, late, time, clock, run

-- By how much the clock may be behind, in milliseconds; nil where it is not.
local function lag()
  local ms = E.lost and E.lost[2] or 0
  return ms > 0 and ms or nil
end

-- A moment to come that was noted while the clock was behind by \`noted\` comes so much later as was made good since, or
-- it would come too early. Answers it with the lag that is noted with it now.
local function catchUp(moment, noted)
  local behind = lag() or 0
  if not noted or behind >= noted then return moment, noted end
  return moment + noted - behind, lag()
end

-- When a replica's lease ends.
local function leaseEnds(life)
  return (catchUp(life[1], life[3]))
end

-- Whether another replica's lease runs.
local function liveAt(lives, id)
  return lives[id] and leaseEnds(lives[id]) > now
end

${memory}
${prints}
local function leave()
  saveSeen()
  change()
end

local function begin(print)
  local number = math.max(ordinal(SEEN), E and ordinal(E.id) or 0) + 1
  local id = string.format('#%.0f.%s.%s.%s', number, string.sub(run, 1, 8), time[1], time[2])
  forget()
  E = {id = id, run = run, since = clock, off = 0, floor = clock, n = 0, low = 0, print = print, c = 0}
  own = nil
end

local function set(moment)
  E.off = E.off + (moment - now)
  now = moment
end

-- From here the clock is behind by \`ms\` more. Moments up to the latest one given out can be \`ms\` longer ago than
-- they look: replicas that knew the clock before know better, and \`mark\` informs the others.
local UNKNOWN = 86400000
local function lose(ms)
  E.lost = {E.floor, (lag() or 0) + ms}
end

-- False for a replica whose names of documents are others than those in use: it would count elsewhere.
local function enter()
  time = redis.call('TIME')
  clock = time[1] * 1000 + math.floor(time[2] / 1000)
  run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)') or '?'
  E = field('#')
  if E and not (tonumber(E.since) and tonumber(E.off) and tonumber(E.floor) and tonumber(E.n) and tonumber(E.low) and type(E.id) == 'string' and (not E.lost or type(E.lost) == 'table')) then
    unreadable()
  end
  own = field('s:' .. ME)
  if E and E.print ~= PRINT then
    if not comesIntoUse() then
      -- It was in use once, and has spent what is not known here.
      if isOlder() then begin(E.print) end
      change()
      return false
    end
    begin(PRINT)
  elseif not E or E.run ~= run or isOlder() or tagsDiffer() then begin(PRINT) end
  E.left = nil
  E.c = (tonumber(E.c) or 0) + 1
  now = clock + E.off
  late = false
  local knows = SEEN == E.id and UPPER > 0
  -- A clock set back neither brings anything earlier nor stops time.
  if now < E.floor then
    lose(UNKNOWN)
    set(E.floor)
  end
  -- Later than this replica can have lived to see: Redis' clock was set forward, or the command was under way too long.
  if knows and now > UPPER then
    late = true
    local bound = math.max(UPPER, E.floor)
    if now > bound then
      lose(now - bound)
      set(bound)
    end
  end
  -- Earlier than it certainly is: what was lost is made good.
  if knows and now < LOWER then
    if E.lost then E.lost[2] = math.max(0, E.lost[2] - (LOWER - now)) end
    set(LOWER)
  end
  E.floor = now
  return true
end

if not enter() then return {'differs'} end
`;
