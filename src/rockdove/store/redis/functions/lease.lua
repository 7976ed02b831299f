-- Leases. The home of a logical queue decides; physical queues hold the messages. <h> is "rd:q:{uid}".
--
--   <h>:lb   hash: lease -> "token time": who is making it
--   <h>:l    hash: lease -> "token made_us number", and <h>:ln sorted set: leases in their order
--   <h>:t:<token>  list: "number:entry entry ...": the messages of a lease, in their order
--   <h>:tl   hash: token -> its lease, once that is made
--   <h>:te   hash: token -> "ack" or "release": its lease has ended, and physical queues may not know it yet
--   <h>:c    hash: consumer -> when it was last heard of; <h>:cn: how many leases, <h>:cm: how many messages it has
--   <h>:ce   hash: "consumer NUL shard" -> the last sequence that has ended; without a shard: of all
--   rd:leasing   set: queues with any of this whose home is this server
--   rd:ending    sorted set: "uid:token" of leases that have ended, by time
--   <q>:l    hash: entry -> "token us": leased by, and visible from before
--   <q>:lu   set: tokens that have claimed here, and may not be made
--   rd:claimed   sorted set: "number:token" of what is claimed for a lease that may not be made, by time
--
-- A lease is its consumer, NUL, and shard and sequence in twenty digits each. A front-end that makes one says so at the
-- home and has the name to itself. It claims from one physical queue after another under a token, and has the home write
-- down what it got: that decides. If it dies before that, another asks the home what has become of the token, and the
-- home then gives it no lease any more. Who takes long says now and then that he is still at it. The end of a lease is
-- decided at the home, too.

-- So long a name stays with whoever makes the lease, if he is not heard of.
local MAKING_US = 3 * 1000000
-- So many leases one call ends at most.
local MOST_ENDED = 100

local function split_lease(lease)
  local at = string.find(lease, '\0', 1, true)
  return string.sub(lease, 1, at - 1), string.sub(lease, at + 1, at + 20), string.sub(lease, at + 21)
end

local function has_ended(h, lease)
  local consumer, shard, sequence = split_lease(lease)
  for _, of in ipairs({shard, ''}) do
    local last = call('HGET', h .. ':ce', consumer .. '\0' .. of)
    if last and sequence <= last then return true end
  end
  return false
end

-- {made_us, number, token, messages}
local function kept(h, lease)
  local text = call('HGET', h .. ':l', lease)
  if not text then return nil end
  local token, made_us, number = string.match(text, '^(%x+) (%d+) (%d+)$')
  return {made_us, number, token, call('LRANGE', h .. ':t:' .. token, 0, -1)}
end

-- now, lease, token. 'ended'; 'busy': somebody else makes it; 'new'; or what is kept.
local function lease_begin(keys, args)
  local h, now, lease, token = keys[1], tonumber(args[1]), args[2], args[3]
  local consumer = split_lease(lease)
  if call('HEXISTS', h .. ':c', consumer) == 1 then call('HSET', h .. ':c', consumer, args[1]) end
  if has_ended(h, lease) then return 'ended' end
  local found = kept(h, lease)
  if found then return found end
  local making = call('HGET', h .. ':lb', lease)
  if making then
    local other, since_us = string.match(making, '^(%x+) (%d+)$')
    if other ~= token and math.abs(now - tonumber(since_us)) < MAKING_US then return 'busy' end
  end
  call('HSET', h .. ':lb', lease, token .. ' ' .. args[1])
  return 'new'
end

local function is_making(h, lease, token)
  local making = call('HGET', h .. ':lb', lease)
  return making and string.match(making, '^%x+') == token
end

-- now, lease, token. The caller still makes it; 0 if somebody else may by now.
local function lease_renew(keys, args)
  if not is_making(keys[1], args[2], args[3]) then return 0 end
  call('HSET', keys[1] .. ':lb', args[2], args[3] .. ' ' .. args[1])
  return 1
end

-- now, lease, token, number of messages, then the messages. 'void': somebody else may make it; 'ended'; or what is kept.
local function lease_make(keys, args)
  local h, lease, token, number = keys[1], args[2], args[3], args[4]
  if not is_making(h, lease, token) then
    -- The caller may have asked before, and not have heard the answer.
    if call('HGET', h .. ':tl', token) == lease then return kept(h, lease) or 'ended' end
    return 'void'
  end
  call('HDEL', h .. ':lb', lease)
  if has_ended(h, lease) then return 'ended' end
  call('HSET', h .. ':l', lease, token .. ' ' .. args[1] .. ' ' .. number)
  call('ZADD', h .. ':ln', 0, lease)
  call('HSET', h .. ':tl', token, lease)
  for at = 5, #args do call('RPUSH', h .. ':t:' .. token, args[at]) end
  local consumer = split_lease(lease)
  call('HSET', h .. ':c', consumer, args[1])
  call('HINCRBY', h .. ':cn', consumer, 1)
  call('HINCRBY', h .. ':cm', consumer, number)
  call('SADD', 'rd:leasing', string.sub(h, 7, -2))
  return {args[1], number, token, {}}
end

-- lease, token. Nothing was found to make it of.
local function lease_leave(keys, args)
  if is_making(keys[1], args[1], args[2]) then call('HDEL', keys[1] .. ':lb', args[1]) end
  return 1
end

-- now, tokens. Of each what has become of it: 'made', 'ack', 'release', or 'void' and stays so; '' if it is being made.
local function lease_ask(keys, args)
  local h, now, found = keys[1], tonumber(args[1]), {}
  local making = call('HGETALL', h .. ':lb')
  for at = 2, #args do
    local token = args[at]
    local what = call('HGET', h .. ':te', token) or (call('HEXISTS', h .. ':tl', token) == 1 and 'made') or 'void'
    for each = 2, #making, 2 do
      local other, since_us = string.match(making[each], '^(%x+) (%d+)$')
      if what == 'void' and other == token then
        if math.abs(now - tonumber(since_us)) < MAKING_US then
          what = ''
        else
          call('HDEL', h .. ':lb', making[each - 1])
        end
      end
    end
    table.insert(found, what)
  end
  return found
end

local function end_lease(h, uid, lease, how, now)
  local consumer = split_lease(lease)
  local found = kept(h, lease)
  local token = found[3]
  call('HDEL', h .. ':l', lease)
  call('ZREM', h .. ':ln', lease)
  call('HDEL', h .. ':tl', token)
  call('HSET', h .. ':te', token, how)
  call('ZADD', 'rd:ending', now, uid .. ':' .. token)
  if call('HINCRBY', h .. ':cn', consumer, -1) == 0 then
    call('HDEL', h .. ':cn', consumer)
    call('HDEL', h .. ':cm', consumer)
  else
    call('HINCRBY', h .. ':cm', consumer, integer(0 - tonumber(found[2])))
  end
  return {token, found[4]}
end

-- now, consumer, shard or '', sequence or '', 'ack' or 'release', 1 to forget the consumer.
-- {1 if there are more, {token, messages} of each lease that has ended}
local function lease_end(keys, args)
  local h, now, consumer, shard, through = keys[1], tonumber(args[1]), args[2], args[3], args[4]
  local uid = string.sub(h, 7, -2)
  local first = consumer .. '\0' .. shard
  local over, last, more = {}, through, 0
  for _, lease in ipairs(call('ZRANGE', h .. ':ln', '[' .. first, '[' .. first .. '\255', 'BYLEX')) do
    local _, _, sequence = split_lease(lease)
    if through == '' or sequence <= through then
      if #over < MOST_ENDED then
        table.insert(over, end_lease(h, uid, lease, args[5], now))
      else
        more = 1
      end
      if through == '' and sequence > last then last = sequence end
    end
  end
  -- Of a consumer that nobody has heard of there is nothing to remember.
  if last ~= '' and call('HEXISTS', h .. ':c', consumer) == 1 then
    local known = call('HGET', h .. ':ce', first)
    if not known or known < last then call('HSET', h .. ':ce', first, last) end
    call('HSET', h .. ':c', consumer, args[1])
  end
  if args[6] == '1' and more == 0 then
    call('HDEL', h .. ':c', consumer)
    for _, field in ipairs(call('HKEYS', h .. ':ce')) do
      if string.sub(field, 1, #consumer + 1) == consumer .. '\0' then call('HDEL', h .. ':ce', field) end
    end
  end
  if call('EXISTS', h .. ':c', h .. ':l') == 0 then call('SREM', 'rd:leasing', uid) end
  return {more, over}
end

-- tokens: all physical queues know that these leases have ended.
local function lease_forget(keys, args)
  local h, uid = keys[1], string.sub(keys[1], 7, -2)
  for _, token in ipairs(args) do
    call('HDEL', h .. ':te', token)
    call('UNLINK', h .. ':t:' .. token)
    call('ZREM', 'rd:ending', uid .. ':' .. token)
  end
  return 1
end

-- token. {'ack', 'release' or '', messages} of a lease that has ended.
local function lease_ended(keys, args)
  local h = keys[1]
  return {call('HGET', h .. ':te', args[1]) or '', call('LRANGE', h .. ':t:' .. args[1], 0, -1)}
end

-- after or '', before, limit. Leases in their order: {lease, made_us, number, ...}
local function lease_page(keys, args)
  local h, found = keys[1], {}
  local first = args[1] == '' and '-' or '(' .. args[1]
  local last = args[2] == '' and '+' or '[' .. args[2]
  for _, lease in ipairs(call('ZRANGE', h .. ':ln', first, last, 'BYLEX', 'LIMIT', 0, tonumber(args[3]))) do
    local each = kept(h, lease)
    for _, word in ipairs({lease, each[1], each[2]}) do table.insert(found, word) end
  end
  return found
end

local function holders_of(h, found)
  local numbers = call('HGETALL', h .. ':cn')
  for at = 1, #numbers, 2 do
    local consumer = numbers[at]
    local messages = call('HGET', h .. ':cm', consumer) or '0'
    for _, word in ipairs({string.sub(h, 7, -2), consumer, numbers[at + 1], messages, call('HGET', h .. ':c', consumer)}) do
      table.insert(found, word)
    end
  end
  return found
end

-- Of each consumer with leases: queue, name, leases, messages, when it was heard of.
local function lease_holders(keys)
  return holders_of(keys[1], {})
end

-- The same of all queues whose home is this server.
local function all_holders()
  local found = {}
  for _, uid in ipairs(call('SMEMBERS', 'rd:leasing')) do holders_of('rd:q:{' .. uid .. '}', found) end
  return found
end

-- The queue is deleted.
local function forget_leases(keys)
  local h, uid = keys[1], string.sub(keys[1], 7, -2)
  for _, lease in ipairs(call('ZRANGE', h .. ':ln', 0, -1)) do
    call('UNLINK', h .. ':t:' .. kept(h, lease)[3])
  end
  for _, token in ipairs(call('HKEYS', h .. ':te')) do
    call('UNLINK', h .. ':t:' .. token)
    call('ZREM', 'rd:ending', uid .. ':' .. token)
  end
  for _, of in ipairs({':lb', ':l', ':ln', ':tl', ':te', ':c', ':cn', ':cm', ':ce'}) do call('UNLINK', h .. of) end
  call('SREM', 'rd:leasing', uid)
  return 1
end

-- Physical queues.

local function mark_claimed(q, token, now)
  call('SADD', q .. ':lu', token)
  call('ZADD', 'rd:claimed', now, string.sub(q, 5, -2) .. ':' .. token)
end

local function unmark_claimed(q, token)
  call('SREM', q .. ':lu', token)
  call('ZREM', 'rd:claimed', string.sub(q, 5, -2) .. ':' .. token)
end

-- Token and time before the lease of a leased entry.
local function lease_of(q, entry)
  local text = call('HGET', q .. ':l', entry)
  if not text then return nil end
  local token, us = string.match(text, '^(%x+) (%d+)$')
  return token, tonumber(us)
end

-- now, token, then what is wanted, and the last entry that was claimed for it: its group goes on behind that. As a claim's;
-- then 1 if others have claimed here for leases that may not be made.
local function lease_claim(keys, args)
  local q, now, token = keys[1], tonumber(args[1]), args[2]
  if not exists(q) then return 'gone' end
  local kind, want = kind_of(q), wanted(args, 3)
  want.is_lease = true
  local last = args[12] or ''
  if last ~= '' and lease_of(q, last) == token then want.last = last end
  kind.pass_time(q, now)
  local draw, size, expired = take(q, kind, want, now, LEASED, function(item)
    call('HSET', q .. ':l', item.entry, token .. ' ' .. integer(item.us))
  end)
  local others = call('SCARD', q .. ':lu') - call('SISMEMBER', q .. ':lu', token)
  if #draw.entries > 0 then mark_claimed(q, token, now) end
  return {next_of(q, kind), integer(now), integer(size), expired, shown(q, draw.entries), shown(q, draw.dead),
    others > 0 and 1 or 0}
end

-- token. Its lease was made.
local function lease_confirm(keys, args)
  unmark_claimed(keys[1], args[1])
  return 1
end

-- now, token, what becomes of them, entries. 'ack': they go; 'release': they are visible from now on; 'void': they were
-- never claimed. For each, whether it was there.
local function lease_settle(keys, args)
  local q, now, token, how = keys[1], tonumber(args[1]), args[2], args[3]
  local found, number = {}, 0
  for at = 4, #args do found[at - 3] = 0 end
  if not exists(q) then return found end
  local kind = kind_of(q)
  kind.pass_time(q, now)
  for at = 4, #args do
    local entry = args[at]
    local holder, before_us = lease_of(q, entry)
    if holder == token then
      found[at - 3], number = 1, number + 1
      if how == 'ack' then
        forget(q, kind, entry, now)
      else
        local count, first_us = receives(q, entry)
        call('HDEL', q .. ':l', entry)
        if how == 'void' then
          count = count - 1
          set_receives(q, entry, count, first_us)
        else
          before_us = now
        end
        place(q, kind, entry, group_of(q, entry), before_us, count, now)
      end
    end
  end
  if how == 'ack' then removed(q, kind, number) else tell(q, number) end
  return found
end

-- token. Entries that were claimed for it; some of them, if they are many.
local function lease_claimed(keys, args)
  local q, found, cursor = keys[1], {}, '0'
  repeat
    local page = call('HSCAN', q .. ':l', cursor, 'COUNT', 1000)
    cursor = page[1]
    for at = 1, #page[2], 2 do
      if string.match(page[2][at + 1], '^%x+') == args[1] then table.insert(found, page[2][at]) end
    end
  until cursor == '0' or #found >= 1000
  return found
end

-- token, entries. Those that it still has.
local function leased(keys, args)
  local q, found = keys[1], {}
  if not exists(q) then return found end
  local kind = kind_of(q)
  for at = 2, #args do
    if lease_of(q, args[at]) == args[1] then table.insert(found, look(q, kind, args[at])) end
  end
  return shown(q, found)
end

-- before, at most. What is unfinished on this server since then: {number, token, uid, ...}, {uid, token, ...}
local function lease_unfinished(keys, args)
  local claimed, ending = {}, {}
  for _, each in ipairs(call('ZRANGE', 'rd:claimed', '-inf', args[1], 'BYSCORE', 'LIMIT', 0, args[2])) do
    local number, token = string.match(each, '^(%d+):(%x+)$')
    local uid = exists('rd:{' .. number .. '}') and call('HGET', 'rd:{' .. number .. '}', 'queue')
    if uid then
      for _, word in ipairs({number, token, uid}) do table.insert(claimed, word) end
    else
      call('ZREM', 'rd:claimed', each)
    end
  end
  for _, each in ipairs(call('ZRANGE', 'rd:ending', '-inf', args[1], 'BYSCORE', 'LIMIT', 0, args[2])) do
    local uid, token = string.match(each, '^(.*):(%x+)$')
    table.insert(ending, uid)
    table.insert(ending, token)
  end
  return {claimed, ending}
end

register('rd_lease_begin', lease_begin)
register('rd_lease_renew', lease_renew)
register('rd_lease_make', lease_make)
register('rd_lease_leave', lease_leave)
register('rd_lease_ask', lease_ask)
register('rd_lease_end', lease_end)
register('rd_lease_forget', lease_forget)
register('rd_lease_ended', lease_ended)
register('rd_lease_page', lease_page)
register('rd_lease_holders', lease_holders)
register('rd_all_holders', all_holders)
register('rd_forget_leases', forget_leases)
register('rd_lease_claim', lease_claim)
register('rd_lease_confirm', lease_confirm)
register('rd_lease_settle', lease_settle)
register('rd_lease_claimed', lease_claimed)
register('rd_leased', leased)
register('rd_lease_unfinished', lease_unfinished)
