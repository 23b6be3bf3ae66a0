/**
 * The active secret. Replicas with different secrets have different names for the same budgets and would each
 * spend the whole limit, so scripts serve one fingerprint, `E.print`, and exclude replicas with any other.
 *
 * `~` contains the excluded ones: {<print>: {ids: {<replica>: until}, since, at}}. An excluded print becomes
 * active only
 * - if no replica uses this Redis: the last has shut down (`E.left`) with no other print waiting;
 * - if it has had more replicas than the active print for a minute, in which they called continuously. A pause of
 * Redis does not count for either side, because no replica can call in it;
 * - if Redis has just lost its data and a newcomer with another secret was the first to come back: the caller has
 * seen an epoch that is not before the one that this newcomer has begun.
 */
export const prints = `
-- How long a replica counts as waiting after its latest call, and for how long its print has to outnumber, in milliseconds.
local PRESENT, OUTNUMBERS = 1500, 60000

-- Those that wait with other prints than this one at a time, without those that gave up.
local function strangersAt(at)
  local strangers = field('~') or {}
  for print, waiting in pairs(strangers) do
    if type(waiting) ~= 'table' or type(waiting.ids) ~= 'table' then unreadable() end
    for id, life in pairs(waiting.ids) do if (tonumber(life) or 0) <= at then waiting.ids[id] = nil end end
    if next(waiting.ids) == nil then strangers[print] = nil end
  end
  return strangers
end
local function strangersWaiting()
  local count = 0
  for print, waiting in pairs(strangersAt(now)) do
    if print ~= E.print then for _ in pairs(waiting.ids) do count = count + 1 end end
  end
  return count
end

-- Whether the caller's print, which is not the one in use, comes into use now. If not, it is noted that it waits.
local function comesIntoUse()
  local at = math.max(clock + E.off, E.floor)
  if E.left then return true end
  local seen = ordinal(SEEN)
  if seen > 0 and seen >= ordinal(E.id) and at - E.since < OUTNUMBERS then return true end
  local strangers = strangersAt(at)
  local waiting = strangers[PRINT] or {ids = {}}
  waiting.ids[ME] = at + PRESENT
  strangers[PRINT] = waiting
  local theirs, ours = 0, 0
  for _ in pairs(waiting.ids) do ours = ours + 1 end
  for _, life in pairs(field('@') or {}) do if life[1] > at then theirs = theirs + 1 end end
  if ours <= theirs then waiting.since = nil
  elseif not tonumber(waiting.since) or at - (tonumber(waiting.at) or 0) > PRESENT then waiting.since = at end
  waiting.at = at
  if waiting.since and at - waiting.since >= OUTNUMBERS then return true end
  put('~', strangers)
  return false
end
`;
