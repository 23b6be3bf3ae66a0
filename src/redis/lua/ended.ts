/**
 * A permit's request has ended, or was never sent: {id, epoch, sent, ago, era, lengthy, limit, remaining, reset,
 * refused, retry, key, kept, code, withdraw}. Told until it gets through, so it may be told twice: the second time
 * nothing is learnt. `ago` is for how many milliseconds it has been over, `epoch` is when it was given.
 */
export const ended = `
local T = cjson.decode(ARGV[8])
load()
purge()
local permit, place
for n, p in ipairs(B.log) do if p.id == T.id then permit, place = p, n end end

local function accepted()
  B.abreast = B.blind and FIRST_ABREAST or B.abreast + 1
  B.blind = false
  B.refusals = 0
end

local function refused(era)
  local ms = T.retry or T.reset or 0
  if era == B.era then
    local guess = math.min(CFG.window, 1000 * 2 ^ B.refusals)
    if (T.retry or T.reset) == nil or B.refusals > 0 then ms = math.max(ms, guess) end
    B.refusals = B.refusals + 1
    B.era = B.era + 1
  end
  local ends = now + math.min(math.max(ms, 1), 3 * CFG.window)
  if ends > B.pausedUntil then B.pausedUntil, B.pausedLag = ends, lag() end
  B.blind = true
  coTenantSeen()
end

-- Holds the headers against the ledger of all replicas.
local function learn(p)
  if T.limit and T.limit > 0 then B.limit = T.limit end
  if T.remaining then
    local countable = p.c + (B.seq - p.s)
    local unknown = B.limit - T.remaining - countable - coTenants()
    if unknown > 0 then
      local lasts = CFG.window
      if B.heard then lasts = math.min(CFG.window, T.reset or T.retry or CFG.window) end
      B.co[#B.co + 1] = {u = now + lasts, d = lag(), n = unknown}
      if B.heard then coTenantSeen() end
    end
    B.heard = true
  end
  B.heardAt = now
  B.unanswered = 0
  B.moreAt = now + PROBE
  if T.refused then refused(p.era)
  elseif p.era == B.era then accepted() end
end

if not T.sent or T.withdraw then
  local intents = field('!')
  if intents and intents[T.id] then
    intents[T.id] = nil
    put('!', intents)
  end
end
if not T.sent then
  if permit then table.remove(B.log, place) end
else
  local ends = now - T.ago + CFG.window + CFG.margin
  if not permit then
    -- Given before Redis lost its memory, or so long ago that it was forgotten.
    B.log[#B.log + 1] = {id = T.id, u = ends, d = lag(), e = now, g = now, r = ME, a = -1, c = 0, s = B.seq, era = B.era}
  elseif permit.h then
    learn(permit)
    if not permit.l then
      B.latency = B.latency + (math.max(0, now - T.ago - permit.g) - B.latency) / 8
    end
    permit.h, permit.x = nil, nil
    permit.u, permit.d, permit.e = ends, lag(), now
    if T.kept and T.epoch == E.id then permit.kept = 1 else permit.k = nil end
  end
end
local others = false
for id in pairs(B.bids) do if id ~= ME then others = true end end
if T.key or others then
  tell({kind = 'ended', budget = NAME, key = T.key, kept = T.kept and T.epoch == E.id, code = T.code, by = ME})
end
save()
local reply = {mark(), now, view()}
leave()
return reply
`;

/** Keeps the permit of a lengthy request, and the intent of its write, for as long as it lasts. */
export const renew = `
load()
purge()
local id = ARGV[8]
local permit
for _, p in ipairs(B.log) do if p.id == id then permit = p end end
if not permit then
  permit = {id = id, h = 1, l = 1, r = ME, a = -1, c = #B.log + 1, s = B.seq, g = now, era = B.era}
  B.log[#B.log + 1] = permit
end
permit.u, permit.d = now + CFG.hold, lag()
local intents = field('!')
if intents and intents[id] then
  intents[id].u, intents[id].d = now + CFG.hold, lag()
  put('!', intents)
end
save()
local reply = {mark(), now, view()}
leave()
return reply
`;
