/**
 * Asks for permits. `wants` are at most 12, in this replica's order: {id, lane, caller, key, tags, ttl, newer,
 * lengthy, rush}; `waits` is all that waits here: {w: {caller: count}, i: {caller: count}, r: count, oldest: ms}.
 *
 * Answers {epoch, now, verdicts, stop, why, view}: a verdict is 'go', 'join' (another replica asks the same now),
 * 'landed' (one did of late) or '' for each want; `stop` is after how many milliseconds to ask again. What
 * cannot be given now stays as a bid, so that other replicas leave it its turn.
 */
export const claim = `
local WANTS, WAITS = cjson.decode(ARGV[8]), cjson.decode(ARGV[9])
local WRITES_IN_A_ROW, BID = 3, 400
load()
purge()

local verdicts = {}
for n = 1, #WANTS do verdicts[n] = '' end
local function leaves(n)
  local want = WANTS[n]
  if want.lane == 'refresh' then WAITS.r = WAITS.r - 1
  else
    local counts = want.lane == 'write' and WAITS.w or WAITS.i
    counts[want.caller] = (counts[want.caller] or 1) - 1
    if counts[want.caller] <= 0 then counts[want.caller] = nil end
  end
end

-- Whether an answer asked for as of a write shows all that were told since.
local function shows(tags, asOf)
  if asOf < E.low then return false end
  for _, tag in ipairs(tags or {}) do
    local n = onTags('ZSCORE', tag)
    if n and tonumber(n) > asOf then return false end
  end
  return true
end

if not late and SEEN == E.id then
  for n, want in ipairs(WANTS) do
    if want.key and want.lane ~= 'write' then
      for _, p in ipairs(B.log) do
        if p.k == want.key and p.g > want.newer and shows(want.tags, p.a) then
          if p.h and p.r ~= ME and liveAt(lives, p.r) then verdicts[n] = 'join'
          elseif p.kept and now - p.e < want.ttl then verdicts[n] = 'landed' end
        end
      end
      if verdicts[n] ~= '' then leaves(n) end
    end
  end
end

-- All that waits anywhere, by lane and caller.
local W, I, R, oldest = {}, {}, 0, 0
local function count(into, from)
  for caller, times in pairs(from or {}) do into[caller] = (into[caller] or 0) + times end
end
count(W, WAITS.w)
count(I, WAITS.i)
R = WAITS.r
for id, bid in pairs(B.bids) do
  if id ~= ME then
    count(W, bid.w)
    count(I, bid.i)
    R = R + bid.r
    if bid.r > 0 then oldest = math.max(oldest, bid.oldest) end
  end
end

-- The one whose last turn is the longest ago; who is new begins at the end of the round. Turns that are left to
-- other replicas did not happen yet: they are reckoned with in this script alone.
local reserved, turns = 0, {}
local function servedAt(caller)
  return turns[caller] or B.served[caller] or B.arrived[caller] or B.seq
end
local function turnOf(waiting)
  local best, least
  for caller in pairs(waiting) do
    local served = servedAt(caller)
    if not best or served < least or (served == least and caller < best) then best, least = caller, served end
  end
  return best
end

-- Who is new stands behind all who had a turn, and before those who come later.
for _, waiting in ipairs({W, I}) do
  for caller in pairs(waiting) do
    if not B.served[caller] and not B.arrived[caller] then
      B.ticks = (B.ticks + 1) % 900000
      B.arrived[caller] = B.seq + B.ticks / 1000000
    end
  end
end

local function mineIn(lane, caller)
  for n, want in ipairs(WANTS) do
    if verdicts[n] == '' and want.lane == lane and (lane == 'refresh' or want.caller == caller) then return n end
  end
end

local function isEmpty(map) return next(map) == nil end

local wire, writes = onWire(), B.writes
local function after(inARow, lane) return (lane == 'write' and not isEmpty(I)) and inARow + 1 or 0 end
local function grant(n)
  local want = WANTS[n]
  B.seq = B.seq + 1
  B.served[want.caller] = B.seq
  B.arrived[want.caller] = nil
  turns[want.caller] = B.seq + reserved
  B.writes = after(B.writes, want.lane)
  local own = #B.log
  B.log[own + 1] = {id = want.id, u = now + CFG.hold, d = lag(), h = 1, r = ME, k = want.key, a = E.n, c = own + 1, s = B.seq, g = now,
    l = want.lengthy and 1 or nil, era = B.era}
  if want.lane == 'write' and want.tags and #want.tags > 0 then
    local intents = field('!') or {}
    -- What takes long is renewed in good time.
    intents[want.id] = {u = now + (want.lengthy and CFG.hold or CFG.intent), d = lag(), t = want.tags}
    put('!', intents)
  end
  if wire == 0 then
    if now - B.heardAt >= HEARD then B.abreast = FIRST_ABREAST end
    B.unanswered = 0
    B.moreAt = now + PROBE
  elseif now >= B.moreAt and wire >= allowed(wire, B.limit - used()) then
    B.unanswered = B.unanswered + 1
    B.moreAt = now + PROBE * 2 ^ B.unanswered
  end
  if not want.lengthy then wire = wire + 1 end
  verdicts[n] = 'go'
  leaves(n)
end

-- When refreshes may go on: they use what is left, spread over the window, the oldest answer first.
local function refreshStop()
  local every = CFG.window / math.max(1, B.limit - reserve())
  B.tokens = math.min(burst(), B.tokens + (now - B.tokensAt) / every)
  B.tokensAt = now
  if B.tokens < 1 then return (1 - B.tokens) * every end
  if (WAITS.oldest or 0) < 0.8 * oldest then return 20 end
  local over = used() + reserve() - B.limit
  if over >= 0 then return (comesBack(over + 1) or now + 1000) - now end
end

local stop, why = 1000, ''
local lead = nil
local function step()
  if late or SEEN ~= E.id then return 1, 'late' end
  if now < E.since + CFG.hold then return E.since + CFG.hold - now, 'quarantine' end
  if now < B.pausedUntil then return B.pausedUntil - now, 'paused' end
  local lane
  if not isEmpty(W) and (isEmpty(I) or writes < WRITES_IN_A_ROW) then lane = 'write'
  elseif not isEmpty(I) then lane = 'interactive'
  elseif WAITS.r > 0 then lane = 'refresh'
  else return 1000, 'idle' end
  local over = used() + reserved - B.limit
  if over >= 0 then return (comesBack(over + 1) or now + CFG.window) - now, 'window' end
  local waiting = lane == 'write' and W or I
  local caller = lane ~= 'refresh' and turnOf(waiting) or nil
  local n = mineIn(lane, caller)
  if wire + reserved >= allowed(wire, B.limit - used()) + (lane == 'write' and 1 or 0) and now < B.moreAt then
    local strict = B.blind or coTenantAbout()
    if strict or not (n and WANTS[n].rush) then return math.min(100, B.moreAt - now), 'caution' end
  end
  if lane == 'refresh' then
    if reserved > 0 then return 20, 'turn' end
    local wait = refreshStop()
    if wait then return wait, 'refresh' end
    if not n then return 1000, 'idle' end
    B.tokens = B.tokens - 1
    R = R - 1
    grant(n)
    return nil
  end
  writes = after(writes, lane)
  waiting[caller] = waiting[caller] - 1
  if waiting[caller] <= 0 then waiting[caller] = nil end
  if n then grant(n)
  else
    -- Another replica's turn: it asks within its hint. Or that of one who waits here and is not in this claim.
    reserved = reserved + 1
    turns[caller] = B.seq + reserved
    local here = lane == 'write' and WAITS.w or WAITS.i
    lead = math.min(lead or 20, here[caller] and 1 or 20)
  end
end
repeat
  local ms, reason = step()
  if ms then
    stop, why = ms, reason
    break
  end
until reserved > B.limit

if lead and stop > lead then stop, why = lead, 'turn' end
stop = math.max(1, math.ceil(stop))
if isEmpty(WAITS.w) and isEmpty(WAITS.i) and WAITS.r <= 0 then B.bids[ME] = nil
else B.bids[ME] = {w = WAITS.w, i = WAITS.i, r = WAITS.r, oldest = WAITS.oldest or 0, u = now + math.min(stop, 1000) + BID} end
save()
local reply = {mark(), now, verdicts, stop, why, E.n, view()}
leave()
return reply
`;
