/**
 * A replica is alive: {lease, applied, remember, documents: [{name, token}]}. Returns {epoch, now, n, low, age,
 * known, others, tags, news, strangers}: the tags of writes after `applied`, each with its number, or all stored
 * ones for a replica that is new in this epoch. `news` is {token, shift, text, bids, company} of each document,
 * with the text only if its token has changed. `strangers` are replicas excluded for another secret.
 */
export const beat = `
local A = cjson.decode(ARGV[6])

-- A write whose replica was never heard of again may have happened.
local intents = field('!')
if intents then
  local over = {}
  for id, intent in pairs(intents) do
    if isLock(intent) then
      if lockEnds(intent) then over[#over + 1] = id end
    elseif catchUp(intent.u, intent.d) <= now then
      touch(intent.t)
      over[#over + 1] = id
    end
  end
  for _, id in ipairs(over) do dropIntent(intents, id) end
  if #over > 0 then put('!', intents) end
end

remember(A.remember)
local known = SEEN == E.id and A.applied >= 0
local before = lives[ME] and lives[ME][2] or -1
for id, life in pairs(lives) do if leaseEnds(life) <= now then lives[id] = nil end end
lives[ME] = {now + A.lease, known and A.applied or -1, lag()}
put('@', lives)
if known and A.applied > before then tell({kind = 'ack', epoch = E.id, by = ME, n = A.applied}) end

-- Deletes what is not used any more, a few entries at a time.
for _, name in ipairs(redis.call('HRANDFIELD', STATE, 8)) do
  local kind, ends = string.sub(name, 1, 2), nil
  if kind == 's:' then ends = tonumber(field(name)[2]) or 0
  elseif kind == 'b:' then ends = document(string.sub(name, 3)).ends
  elseif kind == 'w:' then ends = tonumber(string.match(text(name) or '', '^(%d+) ')) or 0
  elseif kind == 'k:' and not record(string.sub(name, 3)) then keepText(string.sub(name, 3), false) end
  if ends and ends <= now then write(name, false) end
end

local from = known and '(' .. A.applied or '-inf'
local tags = onTags('ZRANGE', from, '+inf', 'BYSCORE', 'WITHSCORES')
for tag, n in pairs(touched) do
  tags[#tags + 1] = tag
  tags[#tags + 1] = tostring(n)
end
local news = {}
for n, watched in ipairs(A.documents) do
  local doc = document(watched.name)
  local token = tokenOf(doc)
  local bids = bidsFor(watched.name)
  news[n] = {token, doc.shift, token ~= watched.token and doc.text or '', bids, companyOf(bids)}
end
local reply = {mark(), now, E.n, E.low, now - E.since, known and 1 or 0, others(), tags, news, strangersWaiting()}
leave()
return reply
`;

/**
 * Writes have happened, or may have: {tags, intents}, all tags that they affected and the intents that represent
 * them. Returns {epoch, now, n, age, others}: the replicas with a valid lease, each with its remaining time; the
 * writers wait for them.
 */
export const touched = `
local A = cjson.decode(ARGV[6])
local intents = field('!')
if intents and #A.intents > 0 then
  for _, id in ipairs(A.intents) do dropIntent(intents, id) end
  put('!', intents)
end
touch(A.tags)
local leases = {}
for _, id in ipairs(others()) do
  leases[#leases + 1] = id
  leases[#leases + 1] = leaseEnds(lives[id]) - now
end
local reply = {mark(), now, E.n, now - E.since, leases}
leave()
return reply
`;

/** A replica ends: no caller waits for its lease, nor for the turns that it bid for under `names`. */
export const goodbye = `
if lives[ME] then
  lives[ME] = nil
  put('@', lives)
end
for _, name in ipairs(cjson.decode(ARGV[6])) do write('w:' .. name .. ':' .. ME, false) end
if next(lives) == nil and strangersWaiting() == 0 then E.left = 1 end
local reply = {mark(), now}
leave()
return reply
`;
