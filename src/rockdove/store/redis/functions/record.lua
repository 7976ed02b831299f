-- Records, and the physical queues that there are.
--
-- Records change one after another; each change has a version. Every server keeps them all. A change counts when more
-- than half of the servers have accepted it under the same ballot, and those that count are committed everywhere, in
-- order. One that was accepted and not committed is the last: whoever writes next finishes it first. This is Paxos for
-- one change after another; see docs/explanation/redis.md.
--
--   rd:server    hash: store (which one), slot, servers, secret, made_us
--   rd:ballots   hash: promised (the highest ballot), version, ballot and change of the last accepted one
--   rd:version   the version of the last committed change
--   rd:changes   stream: committed changes by version, the latest ones
--   rd:records:<kind>  hashes: queue, deleted, task, account, former, topic
--   rd:physical  set: numbers of physical queues; rd:reserved: sorted set of those that no record names
--   rd:dropped   set: numbers of those that are being emptied
--   rd:number    the number that was given out last, without the server's slot

local MOST_CHANGES = 10000
-- Deleted at a time.
local PIECES = 1000

local function committed()
  return tonumber(call('GET', 'rd:version') or 0)
end

local function is_of(store)
  return call('HGET', 'rd:server', 'store') == store
end

local STRANGE = {err = 'STRANGE this server belongs to another store'}

-- store, slot, servers, secret, now. What the server is then: who comes second finds what the first has made.
local function found(keys, args)
  if call('EXISTS', 'rd:server') == 0 then
    call('HSET', 'rd:server', 'store', args[1], 'slot', args[2], 'servers', args[3], 'secret', args[4],
      'made_us', args[5])
  end
  return call('HMGET', 'rd:server', 'store', 'slot', 'servers', 'secret', 'made_us')
end

-- store, ballot. {1, committed, version, ballot, change} or {0, promised}.
local function prepare(keys, args)
  if not is_of(args[1]) then return STRANGE end
  local promised = call('HGET', 'rd:ballots', 'promised') or ''
  if args[2] <= promised then return {0, promised} end
  call('HSET', 'rd:ballots', 'promised', args[2])
  local last = call('HMGET', 'rd:ballots', 'version', 'ballot', 'change')
  return {1, committed(), tonumber(last[1] or 0), last[2] or '', last[3] or ''}
end

-- store, ballot, version, change. {1}, or {0, promised}; {-1, committed}: it lacks changes before, or has this one.
local function accept(keys, args)
  if not is_of(args[1]) then return STRANGE end
  local promised = call('HGET', 'rd:ballots', 'promised') or ''
  if args[2] < promised then return {0, promised} end
  if tonumber(args[3]) ~= committed() + 1 then return {-1, committed()} end
  call('HSET', 'rd:ballots', 'promised', args[2], 'version', args[3], 'ballot', args[2], 'change', args[4])
  return {1}
end

-- store, version, change, then what it puts: kind, field, value; '' for one that goes. The version committed then.
local function commit(keys, args)
  if not is_of(args[1]) then return STRANGE end
  local version = tonumber(args[2])
  if version ~= committed() + 1 then return committed() end
  for at = 4, #args, 3 do
    local key = 'rd:records:' .. args[at]
    if args[at + 2] == '' then call('HDEL', key, args[at + 1]) else call('HSET', key, args[at + 1], args[at + 2]) end
  end
  call('SET', 'rd:version', args[2])
  call('XADD', 'rd:changes', 'MAXLEN', '~', MOST_CHANGES, args[2] .. '-0', 'change', args[3])
  if tonumber(call('HGET', 'rd:ballots', 'version') or 0) <= version then
    call('HDEL', 'rd:ballots', 'version', 'ballot', 'change')
  end
  call('PUBLISH', 'rd:changed', args[2])
  return version
end

-- store, version; then kind, field, value. All records anew, in several calls: the last has the version.
local function install(keys, args)
  if not is_of(args[1]) then return STRANGE end
  for at = 3, #args, 3 do call('HSET', 'rd:installed:' .. args[at], args[at + 1], args[at + 2]) end
  if args[2] == '' or tonumber(args[2]) <= committed() then return committed() end
  for _, kind in ipairs({'queue', 'deleted', 'task', 'account', 'former', 'topic'}) do
    call('DEL', 'rd:records:' .. kind)
    if call('EXISTS', 'rd:installed:' .. kind) == 1 then
      call('RENAME', 'rd:installed:' .. kind, 'rd:records:' .. kind)
    end
  end
  call('SET', 'rd:version', args[2])
  call('DEL', 'rd:changes')
  call('PUBLISH', 'rd:changed', args[2])
  return tonumber(args[2])
end

-- Physical queues.

-- slot, bits of a slot, number of them, at least, most that no record names, the largest number.
local function reserve(keys, args)
  local slot, bits, number = tonumber(args[1]), tonumber(args[2]), tonumber(args[3])
  local least, most, largest = tonumber(args[4]), tonumber(args[5]), tonumber(args[6])
  while call('ZCARD', 'rd:reserved') + number > most do
    -- Whoever asked for it has been refused since, or has gone.
    local old = call('ZPOPMIN', 'rd:reserved')[1]
    if not old then break end
    call('DEL', 'rd:{' .. old .. '}')
    call('SREM', 'rd:physical', old)
  end
  if call('SCARD', 'rd:physical') + number > largest then return {err = 'MANY there are no more numbers'} end
  local last, given = math.max(tonumber(call('GET', 'rd:number') or 0), least), {}
  for _ = 1, number do
    local name
    repeat
      last = last % largest + 1
      name = integer(last * 2 ^ bits + slot)
    until call('SISMEMBER', 'rd:physical', name) == 0 and call('SISMEMBER', 'rd:dropped', name) == 0
    call('SADD', 'rd:physical', name)
    call('HSET', 'rd:{' .. name .. '}', 'state', 'reserved')
    call('ZADD', 'rd:reserved', call('INCR', 'rd:reservations'), name)
    table.insert(given, name)
  end
  call('SET', 'rd:number', integer(last))
  return given
end

-- number, queue, fifo, prefix, now. 0: it is another's.
local function begin(keys, args)
  local q, number = keys[1], args[1]
  if call('SISMEMBER', 'rd:dropped', number) == 1 then return 0 end
  local queue, prefix = unpack(call('HMGET', q, 'queue', 'prefix'))
  if prefix and (prefix ~= args[4] or queue ~= args[2]) then return 0 end
  call('ZREM', 'rd:reserved', number)
  call('SADD', 'rd:physical', number)
  if not prefix then
    call('HSET', q, 'queue', args[2], 'fifo', args[3], 'prefix', args[4], 'begun_us', args[5], 'state', 'up')
  end
  return 1
end

-- version of the records by which it goes. Take no more messages, if there are none, and nobody says by a later version
-- that it stays.
local function close(keys, args)
  local q = keys[1]
  if not exists(q) then return 1 end
  if call('EXISTS', q .. ':m') == 1 then return 0 end
  local state, known = unpack(call('HMGET', q, 'state', 'version'))
  local version = math.max(tonumber(args[1]), tonumber(known or 0))
  if state == 'up' and version > tonumber(args[1]) then return 0 end
  call('HSET', q, 'state', 'closed', 'version', integer(version))
  return 1
end

-- state: up or leaving; version of the records that say so.
local function set_state(keys, args)
  local known = exists(keys[1]) and tonumber(call('HGET', keys[1], 'version') or 0)
  if known and tonumber(args[2]) >= known then call('HSET', keys[1], 'state', args[1], 'version', args[2]) end
  return 1
end

-- number. It is gone for everybody; what it holds is emptied bit by bit.
local function drop(keys, args)
  if exists(keys[1]) then
    call('HSET', keys[1], 'state', 'dropped')
    call('SADD', 'rd:dropped', args[1])
    call('SREM', 'rd:physical', args[1])
    call('ZREM', 'rd:reserved', args[1])
  end
  return 1
end

-- Empties what was dropped, a piece of it. 0: nothing is left.
local function sweep()
  local number = call('SRANDMEMBER', 'rd:dropped')
  if not number then return 0 end
  local q, left = 'rd:{' .. number .. '}', PIECES
  for _, of in ipairs({{':hm', ':x:', ':f:'}, {':u', ':w:', ':o:'}}) do
    local page = call('HSCAN', q .. of[1], 0, 'COUNT', PIECES)[2]
    for at = 1, #page, 2 do
      call('UNLINK', q .. of[2] .. page[at], q .. of[3] .. page[at])
      call('HDEL', q .. of[1], page[at])
      left = left - 1
    end
  end
  if left < PIECES then return 1 end
  for _, of in ipairs({'', ':m', ':r', ':g', ':l', ':lu', ':e', ':a', ':al', ':i', ':d', ':y', ':p', ':pt', ':x:', ':h',
    ':hm', ':f', ':loud', ':v', ':t', ':tm', ':u'}) do
    call('UNLINK', q .. of)
  end
  -- What was appended once may be asked for again; tokens, too, and these go by themselves.
  for _, of in ipairs({':o', ':ot', ':b', ':bt'}) do call('EXPIRE', q .. of, math.floor(ONCE_US / 1000000)) end
  call('SREM', 'rd:dropped', number)
  return 1
end

register('rd_found', found)
register('rd_prepare', prepare)
register('rd_accept', accept)
register('rd_commit', commit)
register('rd_install', install)
register('rd_reserve', reserve)
register('rd_begin', begin)
register('rd_close', close)
register('rd_set_state', set_state)
register('rd_drop', drop)
register('rd_sweep', sweep)
