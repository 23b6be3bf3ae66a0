/**
 * Changes a document if it is in the state that its replica expects: {name, token, company, n, latest, forget,
 * bid, bidMs, intents, messages}, and the text that replaces the document, empty to keep it.
 *
 * The replica has calculated with a moment that has certainly passed. The change is executed only until `latest`,
 * slightly later: a delayed command is refused, and a replica without a reply can be sure that it will not be
 * executed any more.
 *
 * If the change depends on the other replicas and their bids, `company` identifies their expected state, and `n`
 * is the latest known write: both must match too.
 *
 * Only an executed change has effects: the text, the bid (empty to remove it), `intents`, {add: {<id>: {ms, tags,
 * row, lock}}, renew: {<id>: ms}, drop: [id]}, and `records`, [{id, name, token, sent, ms}], each with a further text.
 * Each of `messages`, {text, always}, is published if `always` is set or another replica waits.
 *
 * It is refused too if a record has another token, or a row has another lock than the write holds (`lost`), and if the
 * row of a write without a lock is locked on another replica (`excluded`).
 *
 * Returns {epoch, now, n, age, done, token, shift, text, others, bids, company, lost, excluded}: the text only after a
 * refusal, so that one more attempt is enough, and the ids for which it was refused. To read a document, swap it with an
 * empty token.
 */
export const swap = `
local A, TEXT = cjson.decode(ARGV[6]), ARGV[7]
local doc, bids = document(A.name), bidsFor(A.name)
local company = companyOf(bids)
local intents, lost, excluded = A.intents and field('!') or {}, {}, {}
for id, intent in pairs(A.intents and A.intents.add or {}) do
  local why = intent.row and barred(intents, intent)
  if why == 'lost' then lost[#lost + 1] = id elseif why then excluded[#excluded + 1] = id end
end
for _, each in ipairs(A.records or {}) do
  local found = record(each.name)
  if not found or found.token ~= each.token then lost[#lost + 1] = each.id end
end
local done = SEEN == E.id and not late and now <= A.latest and A.token == tokenOf(doc) and (A.company or company) == company and (A.n or E.n) == E.n and #lost + #excluded == 0
if done then
  if TEXT ~= '' then
    doc = {version = string.format('%.0f', E.c), shift = doc.shift, text = TEXT}
    write('b:' .. A.name, string.format('%s %.0f %.0f %.0f ', doc.version, lag() or 0, doc.shift, now + A.forget) .. TEXT)
  end
  if A.bid then
    write('w:' .. A.name .. ':' .. ME, A.bid ~= '' and string.format('%.0f ', now + A.bidMs) .. A.bid)
  end
  if A.intents then
    for id, intent in pairs(A.intents.add) do
      intents[id] = {u = now + intent.ms, d = lag(), t = intent.tags, r = intent.row}
      -- A lock that has ended is deleted, since its replica may come back.
      local name = intent.row and not intent.lock and 'x:' .. intent.row
      if name and intents[name] and intents[name].by ~= ME then intents[name] = nil end
    end
    for id, ms in pairs(A.intents.renew) do
      if intents[id] then intents[id].u, intents[id].d = now + ms, lag() end
    end
    for _, id in ipairs(A.intents.drop) do dropIntent(intents, id) end
    put('!', intents)
  end
  for at, each in ipairs(A.records or {}) do
    keep(each.name, each.token, each.sent, now + each.ms, ARGV[7 + at])
    tellRecord(each.name, ARGV[7 + at], false)
  end
  for _, message in ipairs(A.messages) do
    if message.always or #bids > 0 then messages[#messages + 1] = message.text end
  end
end
local reply = {mark(), now, E.n, now - E.since, done and 1 or 0, tokenOf(doc), doc.shift, done and '' or doc.text, others(), bids, company, lost, excluded}
leave()
return reply
`;

/** A document that no replica can read is a loss of memory, unless it is another by now: {name, token}. */
export const discard = `
local A = cjson.decode(ARGV[6])
if A.token == tokenOf(document(A.name)) then unreadable() end
local reply = {mark(), now}
leave()
return reply
`;
