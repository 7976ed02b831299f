-- What all functions share. KEYS[1] is the name of a physical queue, "rd:{number}"; its other keys begin with it.
--
-- An entry is named by its sequence number in ten hexadecimal digits, so that names sort as the numbers do.
--   <q>      hash: queue, fifo, prefix, state and the version of the record that says so, sequence, delay, and how far
--            groups have taken their turns by it
--   <q>:m    hash: entry -> four bytes of its size, then its message
--   <q>:r    hash: entry -> "receive count:time of the first receive", for those that were received
--   <q>:g    hash: entry -> group, for those that have one
--   <q>:e    sorted set: entry by its number
--   <q>:a    sorted set: entry by the time it was sent; of leased ones in <q>:al
--   <q>:i    sorted set: received entries by the time they are visible from; of FIFO queues only those in flight
--   <q>:d    sorted set: entries that were sent with a delay and not yet received, by the time they are visible from
--   <q>:k    hash: token -> what was sent by it; see home.lua
--   <q>:o    hash: key -> "time:=number:entry:message id" of what was appended once; <q>:ot: keys by time
--   <q>:p    hash: attempt -> what it has received; <q>:pt: attempts by time
--   <q>:y    hash: entry -> "number token" of the physical queue on another server that it is being moved to
--   rd:moving  sorted set: "number:entry" of those, by time
-- The files of the two kinds tell what else there is.

local LEASED = 1152921504606846976
local MOST_DEAD = 100
local MOST_DEAD_BYTES = 2 * 1024 * 1024
local MOST_EXPIRED = 1000
-- For so long at a time nobody gets what is being moved to another server.
local BOUND_US = 1000000
local KEPT_US = 300 * 1000000
local ONCE_US = 16 * 86400 * 1000000

-- redis.call itself is not there while the library is loaded.
local function call(...)
  return redis.call(...)
end

local function integer(value)
  return string.format('%.0f', value)
end

local function size_of(value)
  return (struct.unpack('>I4', value))
end

-- Receive count, and when it was received first.
local function receives(q, entry)
  local text = call('HGET', q .. ':r', entry)
  if not text then return 0, 0 end
  local at = string.find(text, ':', 1, true)
  return tonumber(string.sub(text, 1, at - 1)), tonumber(string.sub(text, at + 1))
end

local function set_receives(q, entry, count, first_us)
  if count == 0 then
    call('HDEL', q .. ':r', entry)
  else
    call('HSET', q .. ':r', entry, integer(count) .. ':' .. integer(first_us))
  end
end

local function group_of(q, entry)
  return call('HGET', q .. ':g', entry) or ''
end

local function score(key, entry)
  local found = call('ZSCORE', key, entry)
  return found and tonumber(found) or nil
end

-- The first entry of a sorted set, and its score.
local function first_of(key)
  local found = call('ZRANGE', key, 0, 0, 'WITHSCORES')
  if not found[1] then return nil end
  return found[1], tonumber(found[2])
end

local function tell(q, visible, next_us)
  if visible > 0 or next_us then
    call('PUBLISH', q, integer(visible) .. ' ' .. (next_us and integer(next_us) or ''))
  end
end

local function exists(q)
  local state = call('HGET', q, 'state')
  return state and state ~= 'dropped'
end

-- A function that also runs when memory is used up: it is given back by those who take messages out.
local function register(name, callback)
  redis.register_function{function_name = name, callback = callback, flags = {'allow-oom'}}
end
