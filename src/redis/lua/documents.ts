/**
 * Documents: texts that replicas change together and that scripts do not parse. The field `b:<name>` of the state
 * contains "<version> <lag> <shift> <until> <text>":
 *
 * - `version` is the number of the script that wrote it, unique in the epoch.
 * - A document has its own clock, `shift` milliseconds behind the shared one. `lag` is by how much the shared
 * clock may have been behind when the text was written. When some of that is corrected, the shared clock jumps
 * forward, and the document's clock does not: otherwise moments in the text would come too early.
 * - From `until` on, the document may be deleted.
 *
 * The bid of a replica, its waiting requests, is a field of its own, `w:<name>:<replica>`, "<until> <text>": it
 * does not change the document. Only bids of replicas with a valid lease count.
 */
export const documents = `
local lives = field('@') or {}

-- The other replicas whose leases run, always in the same order.
local function others()
  local ids = {}
  for id in pairs(lives) do if id ~= ME and liveAt(lives, id) then ids[#ids + 1] = id end end
  table.sort(ids)
  return ids
end

local function document(name)
  local stored = text('b:' .. name)
  if not stored then return {version = '0', shift = 0, text = ''} end
  local version, noted, shift, ends, rest = string.match(stored, '^(%d+) (%d+) (%d+) (%d+) (.*)$')
  if not rest then unreadable() end
  local made = math.max(0, tonumber(noted) - (lag() or 0))
  return {version = version, shift = tonumber(shift) + made, ends = tonumber(ends) + made, text = rest}
end

-- Names a text and its clock, which together are the document.
local function tokenOf(doc) return string.format('%s/%.0f', doc.version, doc.shift) end

-- The bids for a document of the other replicas: their names, each followed by its bid.
local function bidsFor(name)
  local bids = {}
  for _, id in ipairs(others()) do
    local ends, bid = string.match(text('w:' .. name .. ':' .. id) or '', '^(%d+) (.*)$')
    if bid and tonumber(ends) > now then
      bids[#bids + 1] = id
      bids[#bids + 1] = bid
    end
  end
  return bids
end

-- Names what others do who use a document: who lives, and what they wait for.
local function companyOf(bids)
  return redis.sha1hex(cjson.encode({others(), bids}))
end
`;
