/**
 * Records of writes with an idempotency key: texts that scripts do not parse. The field `k:<name>` of the state
 * contains "<token> <sent> <lag> <until> <text>":
 *
 * - `token` names an ownership, "<replica>.<number>". It lasts while the lease of the replica is valid and the token is
 * there; the next owner puts its own. Each change by an owner requires its token. `-` where no one owns the record.
 * - `sent` is 1 if a request was sent, 0 if not, or 3 for a final outcome. Without the token, a record is
 * only replaced by one with a higher number: so that the outcome of the replica that has sent the request, and what a
 * replica publishes after a loss of data, is not overwritten, but overwrites a claim.
 * - From `until` on, the record may be deleted; `lag` is by how much the shared clock may have been behind.
 *
 * They are in the state, so that the loss of a record is the loss of the epoch too, and is detected. `E.k` is how many
 * bytes they take up. If that is too much, final ones are deleted, old ones first among a few at random; `E.kl` is the
 * highest `until` of these.
 */
export const records = `
local FINAL = 3
-- About what a field takes up in addition to its text.
local FIELD_BYTES = 100

-- A record that counts. One in the format of a newer version is final for this one: nothing replaces it.
local function record(name)
  local stored = text('k:' .. name)
  if not stored then return nil end
  local token, sent, noted, ends, rest = string.match(stored, '^(%S+) (%d+) (%d+) (%d+) (.*)$')
  if not rest then return {token = '-', sent = 9, ends = 0, text = ''} end
  ends = tonumber(ends) + math.max(0, tonumber(noted) - (lag() or 0))
  if ends <= now then return nil end
  return {token = token, sent = tonumber(sent), ends = ends, text = rest}
end

local function keepText(name, value)
  local before = text('k:' .. name)
  local bytes = value and #name + #value + FIELD_BYTES or 0
  if before then bytes = bytes - #name - #before - FIELD_BYTES end
  E.k = math.max(0, (tonumber(E.k) or 0) + bytes)
  write('k:' .. name, value)
end
local function keep(name, token, sent, ends, value)
  keepText(name, string.format('%s %.0f %.0f %.0f ', token, sent, lag() or 0, ends) .. value)
end

local function ownedElsewhere(found)
  local owner = string.match(found.token, '^(.+)%.')
  return owner and owner ~= ME and liveAt(lives, owner)
end

local function makeRoom(max)
  for _ = 1, 4 do
    if (tonumber(E.k) or 0) <= max then return end
    local oldest, first
    for _, name in ipairs(redis.call('HRANDFIELD', STATE, 12)) do
      local found = string.sub(name, 1, 2) == 'k:' and record(string.sub(name, 3))
      if found and found.sent == FINAL and (not first or found.ends < first) then
        oldest, first = string.sub(name, 3), found.ends
      end
    end
    if not oldest then return end
    keepText(oldest, false)
    E.kl = math.max(tonumber(E.kl) or 0, first)
  end
end

-- Every replica remembers the records of all, so that any of them can publish those of one that is gone.
local function tellRecord(name, value, free)
  tell({kind = 'record', name = name, text = value, at = now, free = free, by = ME})
end
`;

/**
 * Takes a record: {name, token, sent, ms, max, lock}, and its text if there is none, or an older one: what this replica
 * knows of the key. Returns {epoch, now, kind, text, sent, low, locked}. `kind` is:
 *
 * - 'owned': the token is in the record. Its text and number are returned unless they are those of this replica.
 * - 'busy': a replica with a valid lease owns it.
 * - 'final': it has an outcome.
 * - 'again': nothing was done, since the replica did not know the epoch or the time.
 *
 * `low` is `E.kl`: later records may have been deleted only if they were older than that. `lock`, {row, id}, is a row that is
 * locked with a record that is owned; `locked` is what came of that, see the locks of rows, and empty if nothing was done.
 */
export const take = `
local A, TEXT = cjson.decode(ARGV[6]), ARGV[7]
local found = record(A.name)
local kind, sent, known = 'owned', A.sent, ''
if SEEN ~= E.id or late or TEXT == '' then kind = 'again'
elseif not found or (A.sent > found.sent and not ownedElsewhere(found)) then
  keep(A.name, A.token, A.sent, now + A.ms, TEXT)
  makeRoom(A.max)
else
  sent, known = found.sent, found.text
  if found.sent >= FINAL then kind = 'final'
  elseif ownedElsewhere(found) then kind = 'busy'
  else keep(A.name, A.token, sent, found.ends, known) end
end
local locked = kind == 'owned' and A.lock and lockRow(A.lock.row, A.lock.id) or ''
local reply = {mark(), now, kind, known, sent, E.kl or 0, locked}
leave()
return reply
`;

/**
 * Writes records: {records: [{name, token, sent, ms, owned, asIs}], max}, and their texts, empty to delete one. It is
 * owned from then on if `owned` is set, and free otherwise. The token is `-` for what a replica publishes. With `asIs`
 * it is only not owned any more: deleted if nothing was sent, and else as it is. Returns {epoch, now, isKnown, done}: a
 * 1 for each that was written, and a 0 for each that another has replaced; none where the replica did not know the
 * epoch.
 */
export const put = `
local A = cjson.decode(ARGV[6])
local isKnown, done = SEEN == E.id, {}
if isKnown then
  for at, each in ipairs(A.records) do
    local found, value = record(each.name), ARGV[6 + at]
    local isOwn = found and each.token ~= '-' and found.token == each.token
    -- The owner can have got the slot of a further request since.
    if isOwn and each.owned and each.sent < found.sent then isOwn = false end
    done[at] = 0
    if isOwn or (each.sent > (found and found.sent or 0) and value ~= '') then
      if each.asIs and found.sent > 0 then
        value = found.text
        keep(each.name, '-', found.sent, found.ends, value)
      elseif value == '' then keepText(each.name, false)
      else keep(each.name, each.owned and each.token or '-', each.sent, now + each.ms, value) end
      if each.token ~= '-' then tellRecord(each.name, value, not each.owned) end
      done[at] = 1
    end
  end
  makeRoom(A.max)
end
local reply = {mark(), now, isKnown and 1 or 0, done}
leave()
return reply
`;
