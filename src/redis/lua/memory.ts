/**
 * Detects whether Redis has returned to an older state. A failover to a copy and back, `SWAPDB` or `RESTORE` have
 * that effect under the same run id, and the latest requests are missing. Only callers can detect this, by what
 * they have seen:
 *
 * - Epochs are numbered: `E.id` begins with its ordinal, which is above all that Redis or the caller had when it
 * began. A caller that has seen a later ordinal, or another epoch with the same one, has seen data that is missing
 * here.
 * - Scripts are numbered within their epoch (`E.c`). Redis stores the number of each replica's latest script in a
 * separate field (`s:<replica>`), so that scripts of other replicas cannot hide a loss: a caller that has received
 * a reply with a higher number than its field has seen a later state.
 * - The tags are another key: their highest number is that of the latest write.
 */
export const memory = `
-- Above that, no replica has written it.
local ORDINALS = 1e12
local function ordinal(id)
  local number = tonumber(string.match(id, '^#(%d+)%.') or 0)
  return number < ORDINALS and number or 0
end

-- Until then what a replica has seen is remembered, where its beats do not say how long, in milliseconds.
local REMEMBERED = 600000
local own

local function isOlder()
  local seen, here = ordinal(SEEN), ordinal(E.id)
  if seen ~= here then return seen > here end
  if SEEN ~= E.id then return seen > 0 end
  return NUMBER > (own and tonumber(own[1]) or 0)
end

local function tagsDiffer()
  local latest = onTags('ZRANGE', 0, 0, 'REV', 'WITHSCORES')[2]
  return E.n ~= (latest and tonumber(latest) or 0)
end

-- Keeps for how long what this replica has seen is remembered; what it has seen is kept when the script ends.
local function remember(ms)
  own = own or {0, 0}
  own[2] = now + ms
end
local function saveSeen()
  if not own then remember(REMEMBERED) end
  own[1] = E.c
  put('s:' .. ME, own)
end

-- What a caller has seen once it has this reply; to one that is new in this epoch also what time the clock may have
-- lost, as the latest moment before that and milliseconds.
local function mark()
  local seen = E.id .. '/' .. string.format('%.0f', E.c)
  if SEEN == E.id or not E.lost then return seen end
  return seen .. string.format('/%.0f/%.0f', E.lost[1], E.lost[2])
end
`;
