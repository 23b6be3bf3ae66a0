/**
 * A replica is alive: {lease, applied, remember, budgets: [{name, cfg}]}. Answers {epoch, now, n, low, age, known,
 * replicas, tags, views, strangers}: the tags touched after `applied`, each with its number, or all that are
 * remembered to a replica that is new in this epoch. `strangers` are kept out, since they have another secret.
 */
export const beat = `
local A = cjson.decode(ARGV[8])

-- A write whose replica was never heard of again may have happened.
local intents = field('!')
if intents then
  local over = {}
  for id, intent in pairs(intents) do
    if catchUp(intent.u, intent.d) <= now then
      touch(intent.t)
      over[#over + 1] = id
    end
  end
  for _, id in ipairs(over) do intents[id] = nil end
  if #over > 0 then put('!', intents) end
end

remember(A.remember)
local known = SEEN == E.id and A.applied >= 0
local before = lives[ME] and lives[ME][2] or -1
for id, life in pairs(lives) do if leaseEnds(life) <= now then lives[id] = nil end end
lives[ME] = {now + A.lease, known and A.applied or -1, lag()}
put('@', lives)
if known and A.applied > before then tell({kind = 'ack', epoch = E.id, by = ME, n = A.applied}) end
local count = 0
for _ in pairs(lives) do count = count + 1 end

-- Budgets of keys that nobody uses any more, a few at a time: anybody can make keys up.
local FORGOTTEN = 600000
for _, name in ipairs(redis.call('HRANDFIELD', STATE, 8)) do
  if string.sub(name, 1, 2) == 's:' and (tonumber(field(name)[2]) or 0) <= now then
    put(name, {})
  end
  if string.sub(name, 1, 2) == 'b:' then
    B = field(name, 'log', 'co', 'served', 'arrived', 'bids')
    local counts = next(B.bids) ~= nil
    for _, p in ipairs(B.log) do if catchUp(p.u, p.d) > now or p.h then counts = true end end
    for _, c in ipairs(B.co) do if catchUp(c.u, c.d) > now then counts = true end end
    local idle = now - (B.at or 0)
    if idle > FORGOTTEN or (not counts and B.blind and idle > 1000) then put(name, {}) end
  end
end

local from = known and '(' .. A.applied or '-inf'
local tags = onTags('ZRANGE', from, '+inf', 'BYSCORE', 'WITHSCORES')
for tag, n in pairs(touched) do
  tags[#tags + 1] = tag
  tags[#tags + 1] = tostring(n)
end
local views = {}
for n, watched in ipairs(A.budgets) do
  NAME, CFG = watched.name, watched.cfg
  load()
  purge()
  views[n] = view()
end
local reply = {mark(), now, E.n, E.low, now - E.since, known and 1 or 0, count, tags, views, strangersWaiting()}
leave()
return reply
`;

/**
 * Writes have happened, or may have: {tags, intents}, all that they touched and the intents that stand for them. Answers {epoch, now, n, age, others}:
 * the replicas whose lease runs, each with what is left of it; the writers wait for them.
 */
export const touched = `
local A = cjson.decode(ARGV[6])
local intents = field('!')
if intents and #A.intents > 0 then
  for _, id in ipairs(A.intents) do intents[id] = nil end
  put('!', intents)
end
touch(A.tags)
local others = {}
for id, life in pairs(field('@') or {}) do
  if id ~= ME and leaseEnds(life) > now then
    others[#others + 1] = id
    others[#others + 1] = leaseEnds(life) - now
  end
end
local reply = {mark(), now, E.n, now - E.since, others}
leave()
return reply
`;

/** A replica ends: nobody waits for its lease, nor for the turns that it bid for in `budgets`. */
export const goodbye = `
local lives = field('@')
if lives then
  lives[ME] = nil
  put('@', lives)
end
for _, name in ipairs(cjson.decode(ARGV[6])) do
  local B = field(name, 'bids')
  if B and B.bids[ME] then
    B.bids[ME] = nil
    put(name, B)
  end
end
if not (lives and next(lives)) and strangersWaiting() == 0 then E.left = 1 end
local reply = {mark(), now}
leave()
return reply
`;
