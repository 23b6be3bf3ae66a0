/**
 * Locks of rows, as entries of `!` beside the intents of writes. An intent contains the row that its write changes, as
 * `r`. The lock of a row is the entry `x:<row>`: {x, by}, the id of the lock and the replica that holds it. It lasts
 * while the lease of that replica is valid, and the entry is there. Writes to the row get no slot on other replicas
 * meanwhile; those in flight are awaited by the one that has locked it. `u` and `t` are for versions without locks.
 */
export const rows = `
local LOCK_MS = 600000

local function tellRow(row)
  tell({kind = 'ended', document = 'x:' .. row, by = ME})
end

local function isLock(intent) return intent.x ~= nil end
local function lockEnds(intent) return intent.by ~= ME and not liveAt(lives, intent.by) end

-- The replica that has locked the row of the write may wait for its end.
local function dropIntent(intents, id)
  local row = intents[id] and intents[id].r
  intents[id] = nil
  if row and intents['x:' .. row] then tellRow(row) end
end

-- Why a write gets no slot: its own lock was lost, or its row is locked elsewhere; nil if neither. A lock that has
-- ended is deleted, since its replica may come back.
local function barred(intents, intent)
  local lock = intents['x:' .. intent.row]
  if intent.lock then return (not lock or lock.x ~= intent.lock) and 'lost' or nil end
  if not lock or lock.by == ME then return nil end
  return not lockEnds(lock) and 'excluded' or nil
end

-- Locks a row if no other replica has locked it: 'locked', 'waits' if writes to it are in flight, or 'busy'.
local function lockRow(row, id)
  local intents = field('!') or {}
  local name = 'x:' .. row
  local found = intents[name]
  if found and found.by ~= ME and not lockEnds(found) then return 'busy' end
  intents[name] = {u = now + LOCK_MS, t = {}, x = id, by = ME}
  put('!', intents)
  for _, intent in pairs(intents) do if intent.r == row then return 'waits' end end
  return 'locked'
end
`;

/**
 * Locks a row: {row, id}. Returns {epoch, now, kind}: 'locked', 'waits' if it is locked and writes to it are in flight,
 * 'busy' if another replica has locked it, 'again' if nothing was done, since the replica did not know the epoch.
 */
export const lock = `
local A = cjson.decode(ARGV[6])
local kind = (SEEN ~= E.id or late) and 'again' or lockRow(A.row, A.id)
local reply = {mark(), now, kind}
leave()
return reply
`;

/** Unlocks a row: {row, id}; no effect if it has another lock by now. */
export const unlock = `
local A = cjson.decode(ARGV[6])
local intents = field('!') or {}
local name = 'x:' .. A.row
if intents[name] and intents[name].x == A.id then
  intents[name] = nil
  put('!', intents)
  tellRow(A.row)
end
local reply = {mark(), now}
leave()
return reply
`;
