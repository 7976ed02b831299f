-- Publishing once. The home of a logical queue keeps what is staged, and decides. <h> is "rd:q:{uid}".
--
-- A publication is its application, NUL, the batch in twenty digits, and its partition plus one in ten: 0 is the whole.
-- An attempt at it is the publication, NUL, and the attempt's name.
--   <h>:s:<attempt>  hash: "c<chunk>" -> messages, "m<chunk>" -> "number bytes"; their sums in "messages" and "bytes"
--   <h>:sn   sorted set: attempts with something staged, by the time of the last; <h>:sl: the same by their names
--   <h>:pp   hash: publication -> "number of messages attempt", once it is published; <h>:pn: the same by their names
--   <h>:pa   hash: application -> through which batch nothing is known any more, or ''
--   <h>:pt   sorted set: applications by the time they last published; of silent ones, <h>:pq
--   <h>:gone what physical queues have gone lately, as `remember` keeps it
-- What is published has to land. <t> is a token, one for each publication that has.
--   <h>:bn   hash: publication -> token; of what was parted from it, "publication NUL token" -> token
--   <h>:bs   hash: publication -> how many parts of it have not landed, besides the first
--   <h>:b:<t>   hash: publication, at_us, place, index; lander, and until when nobody else lands it; field in <h>:bn if it
--            was parted; how many messages of the first chunk are there, if that is known
--   <h>:bl:<t>  list: "attempt NUL chunk number": what has not landed, in order. The first has the index
--   <h>:bp:<t>  hash: round -> where the messages of the first chunk go; "there round number" -> messages that are there
--   <h>:u    hash: number of a physical queue -> messages that it counts, and that have not landed
--   rd:unlanded    sorted set: "uid NUL token" in the order of turns
--   rd:publishing  set: queues with any of this whose home is this server
-- Of a physical queue:
--   <q>:b    hash: token -> "time:index round outcome" of what was the last to land here, or was refused; <q>:bt
--
-- Whoever lands a chunk has the home write down first what goes where: the first who says so has said it for all. Each
-- physical queue takes its messages in one step, once, or refuses them for good. What was refused goes elsewhere in
-- another round. When all of it is there the home forgets the chunk.
--
-- Whether a physical queue whose server is away has taken its messages of a round, nobody knows: they wait for it. What
-- comes after that chunk is parted from it, and lands under a token of its own, elsewhere.

local LANDER_US = 2 * 1000000
-- What nobody needs any more is kept for this long: somebody may be late.
local LATE_US = 3600 * 1000000
local MOST_TURNS = 100

local function uid_of(h)
  return string.sub(h, 7, -2)
end

-- Of this server: times that are compared only with others of its own.
local function server_us()
  local time = call('TIME')
  return tonumber(time[1]) * 1000000 + tonumber(time[2])
end

local function application_of(publication)
  return string.sub(publication, 1, string.find(publication, '\0', 1, true) - 1)
end

local function batch_of(publication)
  local at = string.find(publication, '\0', 1, true)
  return string.sub(publication, at + 1, at + 20)
end

local function unstage(h, attempt)
  call('UNLINK', h .. ':s:' .. attempt)
  call('ZREM', h .. ':sn', attempt)
  call('ZREM', h .. ':sl', attempt)
end

local function staged_by(h, prefix)
  return call('ZRANGE', h .. ':sl', '[' .. prefix, '[' .. prefix .. '\255', 'BYLEX')
end

local function published_by(h, first, last)
  return call('ZRANGE', h .. ':pn', '[' .. first, '[' .. last .. '\255', 'BYLEX')
end

local function forget_batches(h, application, through)
  for _, each in ipairs(published_by(h, application .. '\0', application .. '\0' .. through)) do
    call('HDEL', h .. ':pp', each)
    call('ZREM', h .. ':pn', each)
  end
  call('HSET', h .. ':pa', application, through)
end

local function forget_old(h, now)
  for _, attempt in ipairs(call('ZRANGE', h .. ':sn', '-inf', integer(now - STAGED_US), 'BYSCORE', 'LIMIT', 0, 100)) do
    unstage(h, attempt)
  end
  local silent = call('ZRANGE', h .. ':pt', '-inf', integer(now - PUBLISHED_US), 'BYSCORE', 'LIMIT', 0, 100, 'WITHSCORES')
  for at = 1, #silent, 2 do
    local known = published_by(h, silent[at] .. '\0', silent[at] .. '\0')
    if #known > 0 then forget_batches(h, silent[at], batch_of(known[#known])) end
    call('ZREM', h .. ':pt', silent[at])
    call('ZADD', h .. ':pq', silent[at + 1], silent[at])
  end
  for _, each in ipairs(call('ZRANGE', h .. ':pq', '-inf', integer(now - APPLICATION_US), 'BYSCORE', 'LIMIT', 0, 100)) do
    call('ZREM', h .. ':pq', each)
    call('HDEL', h .. ':pa', each)
  end
end

-- {1 if it is published, by whom, messages, 1 if it is too old, bytes}
local function standing(h, publication, attempt)
  -- When a batch is published as a whole, no partition of it is any more.
  local whole = string.sub(publication, 1, -11) .. '0000000000'
  local won = call('HGET', h .. ':pp', publication) or call('HGET', h .. ':pp', whole)
  if won then
    local number, winner = string.match(won, '^(%d+) (.*)$')
    return {1, winner, number, 0, '0'}
  end
  local forgotten = call('HGET', h .. ':pa', application_of(publication)) or ''
  local sums = call('HMGET', h .. ':s:' .. publication .. '\0' .. attempt, 'messages', 'bytes')
  return {0, '', sums[1] or '0', batch_of(publication) <= forgotten and 1 or 0, sums[2] or '0'}
end

-- publication, attempt.
local function stand(keys, args)
  return standing(keys[1], args[1], args[2])
end

-- now, publication, attempt, chunk, number of messages, bytes, messages.
local function stage(keys, args)
  local h, now, publication, name = keys[1], tonumber(args[1]), args[2], args[3]
  forget_old(h, now)
  local stands = standing(h, publication, name)
  if stands[1] == 1 or stands[4] == 1 then return stands end
  local attempt = publication .. '\0' .. name
  local key = h .. ':s:' .. attempt
  local number, size = 0, 0
  local before = call('HGET', key, 'm' .. args[4])
  if before then
    number, size = string.match(before, '^(%d+) (%d+)$')
  end
  call('HSET', key, 'c' .. args[4], args[7], 'm' .. args[4], args[5] .. ' ' .. args[6])
  call('HINCRBY', key, 'messages', tonumber(args[5]) - number)
  call('HINCRBY', key, 'bytes', tonumber(args[6]) - size)
  call('ZADD', h .. ':sn', now, attempt)
  call('ZADD', h .. ':sl', 0, attempt)
  call('SADD', 'rd:publishing', uid_of(h))
  return standing(h, publication, name)
end

-- publication, attempt. {chunk, messages, ...}
local function staged(keys, args)
  local flat, found = call('HGETALL', keys[1] .. ':s:' .. args[1] .. '\0' .. args[2]), {}
  for at = 1, #flat, 2 do
    local chunk = string.match(flat[at], '^c(%d+)$')
    if chunk then
      table.insert(found, chunk)
      table.insert(found, flat[at + 1])
    end
  end
  return found
end

-- How many messages an attempt has, if all its chunks are there; else -1.
local function messages_of(h, attempt, chunks)
  local key = h .. ':s:' .. attempt
  -- Two fields for each, and their sums.
  if call('HLEN', key) ~= (chunks > 0 and 2 * chunks + 2 or 0) then return -1 end
  for at = 0, chunks - 1 do
    if call('HEXISTS', key, 'm' .. integer(at)) == 0 then return -1 end
  end
  return tonumber(call('HGET', key, 'messages') or 0)
end

-- Partitions of a batch that were published on their own: {partition, messages, ...}
local function alone(h, publication)
  local batch, found = string.sub(publication, 1, -11), {}
  for _, each in ipairs(published_by(h, batch, batch)) do
    local partition = tonumber(string.sub(each, -10)) - 1
    if partition >= 0 then
      table.insert(found, integer(partition))
      table.insert(found, string.match(call('HGET', h .. ':pp', each), '^%d+'))
    end
  end
  return found
end

-- now, publication, then attempts, each with its number of chunks.
-- {how it stands, partitions that were published on their own, messages of each attempt or -1}
local function survey(keys, args)
  local h, publication, numbers = keys[1], args[2], {}
  forget_old(h, tonumber(args[1]))
  for at = 3, #args, 2 do
    table.insert(numbers, messages_of(h, publication .. '\0' .. args[at], tonumber(args[at + 1])))
  end
  return {standing(h, publication, ''), alone(h, publication), numbers}
end

local function has_published(h, publication, winner, number, forgotten, now)
  local application = application_of(publication)
  call('HSET', h .. ':pp', publication, number .. ' ' .. winner)
  call('ZADD', h .. ':pn', 0, publication)
  call('ZADD', h .. ':pt', now, application)
  call('ZREM', h .. ':pq', application)
  call('SADD', 'rd:publishing', uid_of(h))
  if forgotten > (call('HGET', h .. ':pa', application) or '') then forget_batches(h, application, forgotten) end
end

-- now, publication, its winner, messages in all, messages to land, through which batch nothing is known any more, place,
-- token, when it is published, lander, number of partitions published on their own or '', then attempts, each with its
-- number of chunks and messages. 'decided', 'changed', or how it stands.
local function decide(keys, args)
  local h, now, publication, token = keys[1], tonumber(args[1]), args[2], args[8]
  if call('HGET', h .. ':bn', publication) == token then return 'decided' end
  local stands = standing(h, publication, '')
  if stands[1] == 1 or stands[4] == 1 then return stands end
  if recall(h .. ':gone', args[7], now, KEPT_US) then return GONE end
  if args[11] ~= '' and #alone(h, publication) ~= 2 * tonumber(args[11]) then return 'changed' end
  for at = 12, #args, 3 do
    if messages_of(h, publication .. '\0' .. args[at], tonumber(args[at + 1])) ~= tonumber(args[at + 2]) then
      return 'changed'
    end
  end
  has_published(h, publication, args[3], args[4], args[6], now)
  local number = 0
  for at = 12, #args, 3 do
    local attempt = publication .. '\0' .. args[at]
    for chunk = 0, tonumber(args[at + 1]) - 1 do
      local messages = string.match(call('HGET', h .. ':s:' .. attempt, 'm' .. integer(chunk)), '^%d+')
      call('RPUSH', h .. ':bl:' .. token, attempt .. '\0' .. integer(chunk) .. ' ' .. messages)
      number = number + 1
    end
    -- It does not grow old any more.
    call('ZREM', h .. ':sn', attempt)
    call('ZREM', h .. ':sl', attempt)
  end
  for _, attempt in ipairs(staged_by(h, publication .. '\0')) do unstage(h, attempt) end
  if number > 0 then
    call('HSET', h .. ':b:' .. token, 'publication', publication, 'at_us', args[9], 'place', args[7], 'index', '0',
      'lander', args[10], 'until_us', integer(server_us() + LANDER_US))
    call('HSET', h .. ':bn', publication, token)
    call('HINCRBY', h .. ':u', args[7], args[5])
    call('ZADD', 'rd:unlanded', call('INCR', 'rd:turns'), uid_of(h) .. '\0' .. token)
    call('PUBLISH', 'rd:landing', uid_of(h) .. ' 1')
  end
  return 'decided'
end

-- publication, prefix of attempts.
local function discard(keys, args)
  for _, attempt in ipairs(staged_by(keys[1], args[1] .. '\0' .. args[2])) do unstage(keys[1], attempt) end
  return 1
end

-- Landing.

local function end_landing(h, token)
  local batch = h .. ':b:' .. token
  local publication, field = unpack(call('HMGET', batch, 'publication', 'field'))
  call('HDEL', h .. ':bn', field or publication)
  if field and call('HINCRBY', h .. ':bs', publication, -1) == 0 then call('HDEL', h .. ':bs', publication) end
  call('UNLINK', batch, h .. ':bl:' .. token, h .. ':bp:' .. token)
  call('ZREM', 'rd:unlanded', uid_of(h) .. '\0' .. token)
  if call('EXISTS', h .. ':bn') == 0 then call('UNLINK', h .. ':u') end
  call('PUBLISH', 'rd:landing', uid_of(h) .. ' ' .. call('EXISTS', h .. ':bn'))
end

-- lander, "uid NUL publication" that it had last. {uid, token, publication, attempt, chunk, index, at_us, messages};
-- 'busy': others have all; ''.
local function next_landing(keys, args)
  local now, busy, chosen = server_us(), false, nil
  for _, member in ipairs(call('ZRANGE', 'rd:unlanded', 0, MOST_TURNS - 1)) do
    local at = string.find(member, '\0', 1, true)
    local h, token = 'rd:q:{' .. string.sub(member, 1, at - 1) .. '}', string.sub(member, at + 1)
    local lander, until_us, publication = unpack(call('HMGET', h .. ':b:' .. token, 'lander', 'until_us', 'publication'))
    if lander ~= args[1] and tonumber(until_us) > now then
      busy = true
    else
      local is_last = string.sub(member, 1, at) .. publication == args[2]
      if not chosen or (chosen.is_last and not is_last) then
        chosen = {h = h, token = token, member = member, publication = publication, is_last = is_last}
      end
    end
    if chosen and not chosen.is_last then break end
  end
  if not chosen then return busy and 'busy' or '' end
  local h, batch = chosen.h, chosen.h .. ':b:' .. chosen.token
  call('HSET', batch, 'lander', args[1], 'until_us', integer(now + LANDER_US))
  call('ZADD', 'rd:unlanded', call('INCR', 'rd:turns'), chosen.member)
  local first = call('LINDEX', h .. ':bl:' .. chosen.token, 0)
  local attempt, chunk = string.match(first, '^(.*)%z(%d+) %d+$')
  local index, at_us = unpack(call('HMGET', batch, 'index', 'at_us'))
  local messages = call('HGET', h .. ':s:' .. attempt, 'c' .. chunk)
  return {uid_of(h), chosen.token, chosen.publication, attempt, chunk, index, at_us, messages}
end

local function is_first(h, token, index)
  return call('HGET', h .. ':b:' .. token, 'index') == index
end

-- token, index, round, where the messages are to go, or '' if who asks does not know. Where they go; '' if that chunk
-- has landed; 'open' if nobody knows.
local function plan(keys, args)
  local h = keys[1]
  if not is_first(h, args[1], args[2]) then return '' end
  if args[4] ~= '' then call('HSETNX', h .. ':bp:' .. args[1], args[3], args[4]) end
  call('HSET', h .. ':b:' .. args[1], 'until_us', integer(server_us() + LANDER_US))
  return call('HGET', h .. ':bp:' .. args[1], args[3]) or 'open'
end

-- token, index, round. 0: it has landed before, or there is another round.
local function landed(keys, args)
  local h, token, list = keys[1], args[1], keys[1] .. ':bl:' .. args[1]
  if not is_first(h, token, args[2]) then return 0 end
  if call('HEXISTS', h .. ':bp:' .. token, integer(tonumber(args[3]) + 1)) == 1 then return 0 end
  local attempt, chunk, number = string.match(call('LPOP', list), '^(.*)%z(%d+) (%d+)$')
  call('HDEL', h .. ':s:' .. attempt, 'c' .. chunk, 'm' .. chunk)
  local place, there = unpack(call('HMGET', h .. ':b:' .. token, 'place', 'there'))
  call('HINCRBY', h .. ':u', place, integer(tonumber(there or 0) - tonumber(number)))
  call('HDEL', h .. ':b:' .. token, 'there')
  call('UNLINK', h .. ':bp:' .. token)
  -- Only its sums are left.
  if call('HLEN', h .. ':s:' .. attempt) <= 2 then call('UNLINK', h .. ':s:' .. attempt) end
  if call('EXISTS', list) == 1 then call('HINCRBY', h .. ':b:' .. token, 'index', 1) else end_landing(h, token) end
  return 1
end

-- token, index, round, token for what comes after or '', then physical queues that have taken their messages of that
-- round, each with how many these are.
local function set_aside(keys, args)
  local h, token, rest = keys[1], args[1], args[4]
  if not is_first(h, token, args[2]) then return 0 end
  local batch, list = h .. ':b:' .. token, h .. ':bl:' .. token
  local publication, at_us, place = unpack(call('HMGET', batch, 'publication', 'at_us', 'place'))
  for at = 5, #args, 2 do
    if call('HSETNX', h .. ':bp:' .. token, 'there ' .. args[3] .. ' ' .. args[at], args[at + 1]) == 1 then
      call('HINCRBY', batch, 'there', args[at + 1])
      call('HINCRBY', h .. ':u', place, integer(0 - tonumber(args[at + 1])))
    end
  end
  if rest == '' or call('LLEN', list) < 2 then return 0 end
  for _, each in ipairs(call('LRANGE', list, 1, -1)) do call('RPUSH', h .. ':bl:' .. rest, each) end
  call('LTRIM', list, 0, 0)
  local field = publication .. '\0' .. rest
  call('HSET', h .. ':b:' .. rest, 'publication', publication, 'at_us', at_us, 'place', place, 'index', '0', 'lander', '',
    'until_us', '0', 'field', field)
  call('HSET', h .. ':bn', field, rest)
  call('HINCRBY', h .. ':bs', publication, 1)
  call('ZADD', 'rd:unlanded', call('INCR', 'rd:turns'), uid_of(h) .. '\0' .. rest)
  return 1
end

-- publication. Whether nothing of it is left to land.
local function has_landed(keys, args)
  return 1 - math.max(call('HEXISTS', keys[1] .. ':bn', args[1]), call('HEXISTS', keys[1] .. ':bs', args[1]))
end

-- number of a physical queue. Messages that it counts.
local function unlanded(keys, args)
  return tonumber(call('HGET', keys[1] .. ':u', args[1]) or 0)
end

-- now, physical queues that go. Those that count what has not landed.
local function go(keys, args)
  local found = {}
  for at = 2, #args do
    remember(keys[1] .. ':gone', args[at], '', tonumber(args[1]), KEPT_US)
    if tonumber(call('HGET', keys[1] .. ':u', args[at]) or 0) > 0 then table.insert(found, args[at]) end
  end
  return found
end

-- Queues with what has not landed, each with a physical queue that counts it.
local function landing_places()
  local found = {}
  for _, member in ipairs(call('ZRANGE', 'rd:unlanded', 0, -1)) do
    local at = string.find(member, '\0', 1, true)
    local uid, token = string.sub(member, 1, at - 1), string.sub(member, at + 1)
    table.insert(found, uid)
    table.insert(found, call('HGET', 'rd:q:{' .. uid .. '}:b:' .. token, 'place'))
  end
  return found
end

-- The queue was purged: what has not landed never will.
local function forget_landings(keys)
  local h = keys[1]
  local batches = call('HGETALL', h .. ':bn')
  for at = 1, #batches, 2 do
    for _, each in ipairs(call('LRANGE', h .. ':bl:' .. batches[at + 1], 0, -1)) do
      call('UNLINK', h .. ':s:' .. string.match(each, '^(.*)%z'))
    end
    end_landing(h, batches[at + 1])
  end
  return #batches
end

-- The queue is deleted.
local function forget_publications(keys)
  local h = keys[1]
  forget_landings(keys)
  for _, attempt in ipairs(call('ZRANGE', h .. ':sl', 0, -1)) do unstage(h, attempt) end
  for _, of in ipairs({':pp', ':pn', ':pa', ':pt', ':pq', ':gone', ':gonet'}) do call('UNLINK', h .. of) end
  call('SREM', 'rd:publishing', uid_of(h))
  return 1
end

-- Physical queues.

-- now, what the record says, token, index, round, then drafts as in append.
local function land(keys, args)
  local q, h, now, token = keys[1], keys[2], tonumber(args[1]), args[3]
  local index, round = tonumber(args[4]), tonumber(args[5])
  local known = recall(q .. ':b', token, now, ONCE_US)
  if known then
    local last, last_round, outcome = string.match(known, '^(%d+) (%d+) (%a)$')
    last, last_round = tonumber(last), tonumber(last_round)
    if last == index and last_round == round and outcome == 'G' then return GONE end
    if last > index or (last == index and last_round >= round) then return {err = 'LANDED it is there'} end
  end
  local drafts = read_drafts(args, 6)
  local refused = refuses(q, h, args[2], drafts, now)
  if not refused and is_void(h, drafts, now) then return {err = 'VOID somebody else was quicker'} end
  if not refused and is_marked(h, drafts, now) then return MARKED end
  remember(q .. ':b', token, args[4] .. ' ' .. args[5] .. (refused and ' G' or ' L'), now, ONCE_US)
  if refused then return GONE end
  return add(q, h, drafts, now)
end

-- now, token. All of it has landed.
local function forget_token(keys, args)
  keep_for_the_late(keys[1] .. ':b', args[2], tonumber(args[1]), LATE_US)
  return 1
end

register('rd_stand', stand)
redis.register_function{function_name = 'rd_stage', callback = stage}
register('rd_staged', staged)
register('rd_survey', survey)
register('rd_decide', decide)
register('rd_discard', discard)
register('rd_next_landing', next_landing)
register('rd_plan', plan)
register('rd_landed', landed)
register('rd_set_aside', set_aside)
register('rd_has_landed', has_landed)
register('rd_unlanded', unlanded)
register('rd_go', go)
register('rd_landing_places', landing_places)
register('rd_forget_landings', forget_landings)
register('rd_forget_publications', forget_publications)
redis.register_function{function_name = 'rd_land', callback = land}
register('rd_forget_token', forget_token)
