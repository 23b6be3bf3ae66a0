/**
 * Every command of the scripts, once, as the arguments of its permission check. STATE, TAGS and CHANNEL represent
 * the two keys and the channel. A user that lacks one of them can run no script.
 */
export const scriptCommands: readonly (readonly string[])[] = [
  ['hget', 'STATE', '#'],
  ['hset', 'STATE', '#', '1'],
  ['hdel', 'STATE', '#'],
  ['hrandfield', 'STATE'],
  ['del', 'STATE', 'TAGS'],
  ['zadd', 'TAGS', '1', 'a'],
  ['zscore', 'TAGS', 'a'],
  ['zrange', 'TAGS', '0', '-1'],
  ['zcard', 'TAGS'],
  ['zpopmin', 'TAGS'],
  ['publish', 'CHANNEL', '1'],
  ['time'],
  ['info'],
];

const checked = scriptCommands.map((command) => {
  const words = command.map((word) => (/^[A-Z]+$/.test(word) ? word : `'${word}'`));
  return `{${words.join(', ')}}`;
});

/**
 * What every script begins with: permissions, reads, and changes that are made all together by `change`, when the
 * script can fail no more. A script that fails has changed nothing. The only exception is a loss of memory, which
 * \`forget\` makes at once: all that follows is about the new memory.
 */
export const effects = `#!lua flags=allow-oom
local STATE, TAGS, CHANNEL = KEYS[1], KEYS[2], ARGV[1]
for _, command in ipairs({${checked.join(', ')}}) do
  if not redis.acl_check_cmd(unpack(command)) then
    error({err = 'NOPERM this user may not ' .. command[1] .. ' ' .. (command[2] or '')})
  end
end

local E
-- Fields of the state as this script sees them (false: none), and the names of those that it has changed.
local fields, changed = {}, {}
-- Fields that are no JSON, as they are to be (false: none).
local written = {}
local touched, messages = {}, {}

local function forget()
  redis.call('DEL', STATE, TAGS)
  fields, changed, written, touched, messages = {}, {}, {}, {}, {}
end

-- What cannot be read is a loss of memory: its content is unknown.
local function unreadable()
  forget()
  error({err = 'ERR what was there could not be read, and is forgotten'})
end

-- A field that is no JSON; nil where there is none.
local function text(name)
  if written[name] ~= nil then return written[name] or nil end
  local found = redis.pcall('HGET', STATE, name)
  if type(found) == 'table' then unreadable() end
  return found or nil
end
local function write(name, value) written[name] = value end

local function field(name)
  local value = fields[name]
  if value == nil then
    local found = text(name)
    if not found then return nil end
    local fine
    fine, value = pcall(cjson.decode, found)
    if not fine or type(value) ~= 'table' then unreadable() end
    fields[name] = value
  end
  return value or nil
end
local function put(name, value)
  fields[name] = next(value) ~= nil and value
  changed[name] = true
end
local function tell(message)
  messages[#messages + 1] = cjson.encode(message)
end
local function onTags(command, ...)
  local reply = redis.pcall(command, TAGS, ...)
  if type(reply) == 'table' and reply.err then unreadable() end
  return reply
end

-- Makes every answer with one of these tags wrong that was asked for before now.
local function touch(tags)
  if #tags == 0 then return end
  E.n = E.n + 1
  for _, tag in ipairs(tags) do touched[tag] = E.n end
  tell({kind = 'touch', epoch = E.id, n = E.n, tags = tags})
end

local TAGS_REMEMBERED = 10000
local function keepTags()
  for tag, n in pairs(touched) do onTags('ZADD', n, tag) end
  local extra = onTags('ZCARD') - TAGS_REMEMBERED
  if extra > 0 then
    local popped = onTags('ZPOPMIN', extra)
    E.low = math.max(E.low, tonumber(popped[#popped]))
  end
end

local function change()
  local texts = written
  for name in pairs(changed) do texts[name] = fields[name] and cjson.encode(fields[name]) end
  if next(touched) ~= nil then keepTags() end
  texts['#'] = cjson.encode(E)
  for name, text in pairs(texts) do
    if text then redis.call('HSET', STATE, name, text) else redis.call('HDEL', STATE, name) end
  end
  for _, message in ipairs(messages) do redis.call('PUBLISH', CHANNEL, message) end
end
`;
