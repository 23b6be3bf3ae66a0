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
 * Only an executed change has effects: the text, the bid (empty to remove it), and `intents`, {add: {<id>: {ms,
 * tags}}, renew: {<id>: ms}, drop: [id]}. Each of `messages`, {text, always}, is published if `always` is set or
 * another replica waits.
 *
 * Returns {epoch, now, n, age, done, token, shift, text, others, bids, company}: the text only after a refusal, so
 * that one more attempt is enough. To read a document, swap it with an empty token.
 */
export const swap = `
local A, TEXT = cjson.decode(ARGV[6]), ARGV[7]
local doc, bids = document(A.name), bidsFor(A.name)
local company = companyOf(bids)
local done = SEEN == E.id and not late and now <= A.latest and A.token == tokenOf(doc) and (A.company or company) == company and (A.n or E.n) == E.n
if done then
  if TEXT ~= '' then
    doc = {version = string.format('%.0f', E.c), shift = doc.shift, text = TEXT}
    write('b:' .. A.name, string.format('%s %.0f %.0f %.0f ', doc.version, lag() or 0, doc.shift, now + A.forget) .. TEXT)
  end
  if A.bid then
    write('w:' .. A.name .. ':' .. ME, A.bid ~= '' and string.format('%.0f ', now + A.bidMs) .. A.bid)
  end
  if A.intents then
    local intents = field('!') or {}
    for id, intent in pairs(A.intents.add) do intents[id] = {u = now + intent.ms, d = lag(), t = intent.tags} end
    for id, ms in pairs(A.intents.renew) do
      if intents[id] then intents[id].u, intents[id].d = now + ms, lag() end
    end
    for _, id in ipairs(A.intents.drop) do intents[id] = nil end
    put('!', intents)
  end
  for _, message in ipairs(A.messages) do
    if message.always or #bids > 0 then messages[#messages + 1] = message.text end
  end
end
local reply = {mark(), now, E.n, now - E.since, done and 1 or 0, tokenOf(doc), doc.shift, done and '' or doc.text, others(), bids, company}
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
