-- What concerns a logical queue as a whole is decided at its home, one of the servers. <h> is "rd:q:{uid}".
--
--   <h>:k    hash: deduplication key -> "time:=number:entry:message id" of what was sent by it, or "time:?number:token"
--            of what is on its way to a physical queue on another server; <h>:kt: keys by time
-- There, <q>:k has the same by token: "time:=number:entry:message id", or "time:!" if it must not be sent any more.
--
-- Whoever sends to another server has the key marked first, sends then, and tells the home. If he does not come to
-- that, the next who sends by the same key asks there what has become of it, and, if nothing has, forbids it.

-- Keep something by a key for a time, and forget some of what is older.
local function remember(name, key, text, now, kept_us)
  local times = name .. 't'
  for _, border in ipairs({{'-inf', integer(now - kept_us)}, {integer(now + kept_us), '+inf'}}) do
    local old = call('ZRANGE', times, border[1], border[2], 'BYSCORE', 'LIMIT', 0, 100)
    for _, each in ipairs(old) do
      call('ZREM', times, each)
      call('HDEL', name, each)
    end
  end
  call('HSET', name, key, integer(now) .. ':' .. text)
  call('ZADD', times, now, key)
  -- All of it goes when nobody uses it any more.
  local rest_s = math.floor(kept_us / 1000000) + 60
  call('EXPIRE', name, rest_s)
  call('EXPIRE', times, rest_s)
end

-- What is kept for ONCE_US by a key is needed only by a front-end that was stopped for a while.
local function keep_for_the_late(name, key, now, late_us)
  call('ZADD', name .. 't', 'XX', integer(now - ONCE_US + late_us), key)
end

-- What was kept by a key, unless that is too long ago.
local function recall(name, key, now, kept_us)
  local text = call('HGET', name, key)
  if not text then return nil end
  local at = string.find(text, ':', 1, true)
  if math.abs(now - tonumber(string.sub(text, 1, at - 1))) >= kept_us then return nil end
  return string.sub(text, at + 1)
end

-- Physical queue, entry and message id, if that is what a text tells.
local function copy_in(text)
  if not text then return nil end
  return string.match(text, '^=(%d+):(%x+):(.*)$')
end

-- now, number of the physical queue, then keys, each with its token. For each '' if it may be sent, or what is known.
local function mark(keys, args)
  local h, now, found = keys[1], tonumber(args[1]), {}
  for at = 3, #args, 2 do
    local mine = '?' .. args[2] .. ':' .. args[at + 1]
    local known = recall(h .. ':k', args[at], now, KEPT_US)
    if not known then remember(h .. ':k', args[at], mine, now, KEPT_US) end
    table.insert(found, (not known or known == mine) and '' or known)
  end
  return found
end

-- now, then key, token, and what has become of it: '' if nothing has.
local function settle(keys, args)
  local h, now = keys[1], tonumber(args[1])
  for at = 2, #args, 3 do
    local known = recall(h .. ':k', args[at], now, KEPT_US)
    if known and string.match(known, '^%?%d+:(.*)$') == args[at + 1] then
      if args[at + 2] == '' then
        call('HDEL', h .. ':k', args[at])
        call('ZREM', h .. ':kt', args[at])
      else
        remember(h .. ':k', args[at], args[at + 2], now, KEPT_US)
      end
    end
  end
  return 1
end

-- Of a physical queue: what has become of a token; if nothing has, nothing will. now, token.
local function ask_token(keys, args)
  local q, now = keys[1], tonumber(args[1])
  local known = recall(q .. ':k', args[2], now, KEPT_US)
  if known then return known == '!' and '' or known end
  remember(q .. ':k', args[2], '!', now, KEPT_US)
  return ''
end

-- The queue was purged.
local function forget_keys(keys)
  return call('UNLINK', keys[1] .. ':k', keys[1] .. ':kt')
end

-- Work that one of all processes does: who asks, for how many milliseconds.
local function take_duty(keys, args)
  local holder = call('GET', keys[1])
  if holder and holder ~= args[1] then return 0 end
  call('SET', keys[1], args[1], 'PX', args[2])
  return 1
end

local function leave_duty(keys, args)
  if call('GET', keys[1]) == args[1] then call('DEL', keys[1]) end
  return 1
end

register('rd_take_duty', take_duty)
register('rd_leave_duty', leave_duty)
register('rd_mark', mark)
register('rd_settle', settle)
register('rd_ask_token', ask_token)
register('rd_forget_keys', forget_keys)
