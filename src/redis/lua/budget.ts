/**
 * One key's budget, as scripts read and write it: a document of about 5 kB when the window is full, {log, co, limit,
 * conf, pausedUntil, pausedLag, refusals, era, blind, heard, heardAt, coAt, abreast, moreAt, unanswered, tokens, tokensAt, seq,
 * served, arrived, ticks, writes, latency, bids, at}. `served` has the turn that each caller had last, and `arrived` where in
 * the round those stand who wait and had none.
 *
 * A permit in `log` is {id, u: until, h: 1 while held, r: replica, k: key, a: asOf, c: count, s: seq, g: grantedAt,
 * e: endedAt, kept, l: lengthy, era, x: 1 for a ghost, d: how far the clock was behind when `u` was noted}. Rules are those of caution.ts, pause.ts, reconcile.ts and
 * refresh-pace.ts, over all replicas.
 */
export const budget = `
local NAME, CFG = ARGV[6], cjson.decode(ARGV[7])
local GHOST = 600000
local HEARD, FIRST_ABREAST, PROBE, CO_WINDOWS = 250, 2, 1000, 10
local lives = field('@') or {}
local B

local function burst() return math.max(1, math.floor(B.limit / 6)) end
local function reserve()
  return math.min(B.limit - 1, math.max(1, math.floor(B.limit / 15 + 0.5)))
end

local function load()
  B = field(NAME, 'log', 'co', 'served', 'arrived', 'bids')
  if not B then
    B = {log = {}, co = {}, limit = CFG.limit, conf = CFG.limit, pausedUntil = 0, refusals = 0, era = 0, blind = true,
      heard = false, heardAt = 0, coAt = 0, abreast = FIRST_ABREAST, moreAt = 0, unanswered = 0, tokensAt = now,
      seq = 0, served = {}, arrived = {}, ticks = 0, writes = 0, latency = 200, bids = {}}
    B.tokens = burst()
  end
  for _, p in ipairs(B.log) do p.u, p.d = catchUp(p.u, p.d) end
  for _, c in ipairs(B.co) do c.u, c.d = catchUp(c.u, c.d) end
  B.pausedUntil, B.pausedLag = catchUp(B.pausedUntil, B.pausedLag)
  if B.conf ~= CFG.limit then B.limit, B.conf = CFG.limit, CFG.limit end
end

-- Most ghosts of all replicas together: a tenth of the limit, and none where that would leave next to nothing.
local function mostGhosts()
  return math.min(math.max(1, math.floor(B.limit / 10)), math.floor(B.limit / 4))
end

-- A replica that was stopped in the turn in which a request leaves can send that one late, and never more than one:
-- its latest permit that never ended stays for that, as a ghost. From here a stopped replica looks like a killed one,
-- and replicas can be killed again and again, so only the latest few stay: the longer one sleeps, the less likely it
-- wakes in that turn.
local function purge()
  local latest, ghosts = {}, {}
  for _, p in ipairs(B.log) do
    p.x = nil
    if p.u <= now and p.h and now < p.g + GHOST then
      if not latest[p.r] or p.s >= latest[p.r].s then latest[p.r] = p end
    end
  end
  for _, p in pairs(latest) do ghosts[#ghosts + 1] = p end
  table.sort(ghosts, function(a, b) return a.s > b.s or (a.s == b.s and a.id > b.id) end)
  for n, p in ipairs(ghosts) do p.x = n <= mostGhosts() and 1 or nil end
  local log = {}
  for _, p in ipairs(B.log) do
    if p.u > now or p.x then log[#log + 1] = p end
  end
  B.log = log
  local co = {}
  for _, c in ipairs(B.co) do if c.u > now then co[#co + 1] = c end end
  B.co = co
  for id, bid in pairs(B.bids) do if bid.u <= now then B.bids[id] = nil end end
end

local function coTenants()
  local count = 0
  for _, c in ipairs(B.co) do count = count + c.n end
  return count
end

-- Permits out with live replicas, without the lengthy ones.
local function onWire()
  local wire = 0
  for _, p in ipairs(B.log) do
    if p.h and not p.l and (p.r == ME or liveAt(lives, p.r)) then wire = wire + 1 end
  end
  return wire
end

local function coTenantAbout() return B.coAt > 0 and now - B.coAt < CO_WINDOWS * CFG.window end

local function mostAbreast(wire, free)
  if not B.heard then return FIRST_ABREAST end
  return math.max(1, math.ceil((free + wire) / 2))
end

local INFINITE = 1e9
local function allowed(wire, free)
  if B.blind then return B.coAt == 0 and FIRST_ABREAST or 1 end
  if B.coAt == 0 then return INFINITE end
  local abreast = B.abreast
  if wire == 0 and now - B.heardAt >= HEARD then abreast = FIRST_ABREAST end
  if coTenantAbout() then return math.min(abreast, mostAbreast(wire, free)) end
  return abreast == FIRST_ABREAST and FIRST_ABREAST or INFINITE
end

local function coTenantSeen()
  if not coTenantAbout() then B.abreast = FIRST_ABREAST end
  B.coAt = now
end

-- When the slots that count come back, soonest first; those of permits that are out are a guess. With each, whose it
-- is: m of this replica, r of another, c of a co-tenant; M and R while the permit is out.
local function untils()
  local all = {}
  for _, p in ipairs(B.log) do
    local mine = p.r == ME
    if p.x then all[#all + 1] = {p.g + GHOST, mine and 'm' or 'r'}
    elseif p.h then
      local u = math.min(p.u, math.max(now, p.g + B.latency) + CFG.window + CFG.margin)
      all[#all + 1] = {u, mine and 'M' or 'R'}
    else all[#all + 1] = {p.u, mine and 'm' or 'r'} end
  end
  for _, c in ipairs(B.co) do for _ = 1, math.min(c.n, 1000) do all[#all + 1] = {c.u, 'c'} end end
  table.sort(all, function(a, b) return a[1] < b[1] end)
  return all
end

-- When the nth of them comes back.
local function comesBack(n)
  local slot = untils()[n]
  return slot and slot[1]
end

local function used() return #B.log + coTenants() end

-- What replicas reckon with: nothing is sent on its word.
local function view()
  local wire, free = onWire(), math.max(0, B.limit - used())
  local times, who, ghosts, ghostsMs = {}, {}, 0, 0
  for _, p in ipairs(B.log) do
    if p.x then ghosts, ghostsMs = ghosts + 1, math.max(ghostsMs, math.floor(p.g + GHOST - now)) end
  end
  for i, slot in ipairs(untils()) do times[i], who[i] = math.floor(slot[1] - now), slot[2] end
  local others = {}
  for id, bid in pairs(B.bids) do if id ~= ME then others[#others + 1] = {by = id, w = bid.w, i = bid.i, r = bid.r} end end
  local sent = {}
  for _, p in ipairs(B.log) do
    if p.r ~= ME then sent[p.r] = math.min(sent[p.r] or INFINITE, math.floor(now - p.g)) end
  end
  return cjson.encode({limit = B.limit, wire = wire, times = times, who = table.concat(who), bids = others, sent = sent,
    ghosts = ghosts, ghostsMs = ghostsMs,
    pausedMs = math.max(0, math.floor(B.pausedUntil - now)), latencyMs = B.latency, abreast = allowed(wire, free), most = mostAbreast(wire, free), about = coTenantAbout()})
end

local function save()
  B.at = now
  -- Whom a turn was given long ago is like one who is new.
  for caller, seq in pairs(B.served) do if seq < B.seq - 2 * B.limit then B.served[caller] = nil end end
  -- Anybody can come by ever new names: who does not wait any more is forgotten.
  local still = {}
  for _, bid in pairs(B.bids) do
    for _, counts in ipairs({bid.w or {}, bid.i or {}}) do
      for caller in pairs(counts) do still[caller] = B.arrived[caller] end
    end
  end
  B.arrived = still
  put(NAME, B)
end
`;
