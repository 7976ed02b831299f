-- FIFO queues: each group in order, and nothing of a group that stands behind one in flight.
--
--   <q>:v          sorted set: entries by the time they are visible from
--   <q>:w:<group>  sorted set: entries that wait, by their numbers; those in flight are in <q>:o:<group>
--   <q>:t          sorted set: "<first entry>|<group>" by the time from which it can be claimed, of groups not held back
--   <q>:tm         hash: group -> its member of <q>:t
--   <q>:u          hash: group -> when one of it was last let go; all groups that there are

local AT_A_TIME = 1000

local fifo = {}

-- The entry whose turn it is; nil if there is none, or one in flight stands before it.
local function turn_of(q, group)
  local waiting = call('ZRANGE', q .. ':w:' .. group, 0, 0)[1]
  if not waiting then return nil end
  local held = call('ZRANGE', q .. ':o:' .. group, 0, 0)[1]
  if held and held < waiting then return nil end
  return waiting
end

local function due_us(q, entry, delay_us)
  if call('HEXISTS', q .. ':r', entry) == 1 then return score(q .. ':v', entry) end
  return (score(q .. ':a', entry) or score(q .. ':al', entry)) + delay_us
end

local function delay_of(q)
  return tonumber(call('HGET', q, 'delay') or 0)
end

-- Put a group where its first entry belongs; one that is held back has no turn.
local function take_turn(q, group, delay_us)
  local entry = turn_of(q, group)
  local member = entry and (entry .. '|' .. group) or nil
  local before = call('HGET', q .. ':tm', group)
  if before and before ~= member then
    call('ZREM', q .. ':t', before)
    if not member then call('HDEL', q .. ':tm', group) end
  end
  if member then
    local freed_us = tonumber(call('HGET', q .. ':u', group) or 0)
    call('ZADD', q .. ':t', math.max(due_us(q, entry, delay_us), freed_us), member)
    if before ~= member then call('HSET', q .. ':tm', group, member) end
  elseif call('EXISTS', q .. ':o:' .. group, q .. ':w:' .. group) == 0 then
    call('HDEL', q .. ':u', group)
  end
end

local function let_go(q, entry, group, at_us)
  if call('ZREM', q .. ':o:' .. group, entry) == 1 then
    local freed_us = tonumber(call('HGET', q .. ':u', group) or 0)
    call('HSET', q .. ':u', group, integer(math.max(freed_us, at_us)))
  end
end

function fifo.place(q, entry, group, visible_us, count, now)
  call('ZADD', q .. ':v', visible_us, entry)
  call('HSETNX', q .. ':u', group, '0')
  local number = tonumber(entry, 16)
  if visible_us <= now then
    call('ZADD', q .. ':w:' .. group, number, entry)
    let_go(q, entry, group, visible_us)
  elseif count > 0 then
    call('ZREM', q .. ':w:' .. group, entry)
    call('ZADD', q .. ':o:' .. group, number, entry)
  else
    -- A delayed message keeps its place: those behind it wait, too.
    call('ZADD', q .. ':w:' .. group, number, entry)
  end
  take_turn(q, group, delay_of(q))
end

function fifo.forget(q, entry, group, now)
  call('ZREM', q .. ':v', entry)
  call('ZREM', q .. ':w:' .. group, entry)
  let_go(q, entry, group, now)
  take_turn(q, group, delay_of(q))
end

function fifo.visible(q, entry, group)
  return score(q .. ':v', entry)
end

-- What was in flight and is visible again waits again. If it is very much, the rest follows with the next call.
function fifo.pass_time(q, now)
  local over = call('ZRANGE', q .. ':i', '-inf', integer(now), 'BYSCORE', 'LIMIT', 0, AT_A_TIME, 'WITHSCORES')
  if #over == 0 then return end
  local delay_us = delay_of(q)
  for at = 1, #over, 2 do
    local entry = over[at]
    local group = group_of(q, entry)
    call('ZREM', q .. ':i', entry)
    call('ZADD', q .. ':w:' .. group, tonumber(entry, 16), entry)
    let_go(q, entry, group, tonumber(over[at + 1]))
    take_turn(q, group, delay_us)
  end
end

function fifo.set_noisy(q, number)
end

function fifo.is_noisy(q, now)
  return false
end

-- With another delay, groups take their turns anew: some with each call, for there may be very many of them.
function fifo.set_delay(q, delay_us)
  local known_us, cursor = unpack(call('HMGET', q, 'delay', 'retiming'))
  if delay_us ~= tonumber(known_us or 0) then
    call('HSET', q, 'delay', integer(delay_us))
    cursor = '0'
  end
  if not cursor then return end
  local page = call('HSCAN', q .. ':u', cursor, 'COUNT', AT_A_TIME)
  for at = 1, #page[2], 2 do take_turn(q, page[2][at], delay_us) end
  if page[1] == '0' then call('HDEL', q, 'retiming') else call('HSET', q, 'retiming', page[1]) end
end

-- The entry after ``last``, up to which a claim has taken all that waited; nil if there is none, or one in flight stands
-- before it.
local function turn_after(q, group, last)
  local number = tonumber(last, 16)
  local waiting = call('ZRANGE', q .. ':w:' .. group, 0, 0)[1]
  if not waiting or tonumber(waiting, 16) < number then return nil end
  local held = call('ZRANGE', q .. ':o:' .. group, '(' .. integer(number), '+inf', 'BYSCORE', 'LIMIT', 0, 1)[1]
  if held and held < waiting then return nil end
  return waiting
end

-- Of one group; ``last``: the claim has taken all up to this one.
local function draw_group(q, group, want, now, draw, last)
  table.insert(draw.groups, group)
  while #draw.entries < want.limit and #draw.expired < MOST_EXPIRED do
    local entry
    if last then entry = turn_after(q, group, last) else entry = turn_of(q, group) end
    if not entry or due_us(q, entry, want.delay_us) > now then break end
    call('ZREM', q .. ':w:' .. group, entry)
    local count, first_us = receives(q, entry)
    local item = {entry = entry, group = group, us = score(q .. ':v', entry), count = count, first_us = first_us}
    if score(q .. ':a', entry) < want.sent_after_us then
      table.insert(draw.expired, item)
    elseif want.max_receives > 0 and count >= want.max_receives then
      table.insert(draw.dead, item)
      -- What follows must not be given before it has gone to the dead-letter queue.
      break
    elseif draw.has_bound and call('HEXISTS', q .. ':y', entry) == 1 then
      table.insert(draw.bound, item)
      break
    else
      table.insert(draw.entries, item)
    end
  end
end

-- What a claim gets. Entries that are drawn do not wait any more: the caller places or forgets each.
function fifo.draw(q, want, now)
  fifo.set_delay(q, want.delay_us)
  local draw = {entries = {}, dead = {}, expired = {}, bound = {}, groups = {}}
  draw.has_bound = call('EXISTS', q .. ':y') == 1
  if want.last then draw_group(q, group_of(q, want.last), want, now, draw, want.last) end
  while #draw.entries < want.limit and #draw.dead < MOST_DEAD and #draw.expired < MOST_EXPIRED do
    local member, at_us = first_of(q .. ':t')
    if not member or at_us > now then break end
    local group = string.sub(member, 12)
    call('ZREM', q .. ':t', member)
    call('HDEL', q .. ':tm', group)
    draw_group(q, group, want, now, draw)
  end
  return draw
end

-- The groups that a draw has passed take their turns again.
function fifo.drawn(q, draw)
  local delay_us = delay_of(q)
  for _, group in ipairs(draw.groups) do take_turn(q, group, delay_us) end
end

function fifo.next_us(q)
  local _, turn_us = first_of(q .. ':t')
  local _, flight_us = first_of(q .. ':i')
  if turn_us and flight_us then return math.min(turn_us, flight_us) end
  return turn_us or flight_us
end

function fifo.sight(q, limit)
  local some, found = call('ZRANGE', q .. ':v', 0, limit - 1, 'WITHSCORES'), {}
  for at = 1, #some, 2 do table.insert(found, {some[at], tonumber(some[at + 1])}) end
  return found
end

function fifo.holds(q, group)
  return call('HEXISTS', q .. ':u', group) == 1
end
