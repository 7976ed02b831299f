-- Standard queues: the oldest visible first, quiet groups before noisy ones.
--
--   <q>:x:<group>  sorted set: entries of a group by the time they are visible from; those without one have the group ''
--   <q>:h          sorted set: "<first entry>|<group>" by the time that entry is visible from; without the group ''
--   <q>:hm         hash: group -> its member of <q>:h
--   <q>:f:<group>  sorted set: entries in flight of a group, by the time they are visible from
--   <q>:f          the same of all groups
--   <q>:loud       set: groups with enough in flight to be noisy

local NOISY_MIN = 30
local NOISY_SHARE = 0.1
local UNORDERED = 1000
local AT_ONCE = 16

local standard = {}

-- Put a group where its first entry belongs.
local function queue_up(q, group)
  if group == '' then return end
  local entry, visible_us = first_of(q .. ':x:' .. group)
  local member = entry and (entry .. '|' .. group) or nil
  local before = call('HGET', q .. ':hm', group)
  if before and before ~= member then call('ZREM', q .. ':h', before) end
  if member then
    call('ZADD', q .. ':h', visible_us, member)
    if before ~= member then call('HSET', q .. ':hm', group, member) end
  elseif before then
    call('HDEL', q .. ':hm', group)
  end
end

-- How many in flight make a group noisy here: of several physical queues each has a part of what a group has.
local function noisy_min(q)
  return tonumber(call('HGET', q, 'noisy') or NOISY_MIN)
end

local function hold(q, entry, group, visible_us)
  call('ZADD', q .. ':f', visible_us, entry)
  call('ZADD', q .. ':f:' .. group, visible_us, entry)
  if call('ZCARD', q .. ':f:' .. group) >= noisy_min(q) then call('SADD', q .. ':loud', group) end
end

function standard.set_noisy(q, number)
  if noisy_min(q) ~= tonumber(number) then call('HSET', q, 'noisy', number) end
end

function standard.place(q, entry, group, visible_us, count, now)
  call('ZADD', q .. ':x:' .. group, visible_us, entry)
  if group == '' then return end
  if visible_us > now and count > 0 then
    hold(q, entry, group, visible_us)
  else
    call('ZREM', q .. ':f', entry)
    call('ZREM', q .. ':f:' .. group, entry)
  end
  queue_up(q, group)
end

function standard.forget(q, entry, group, now)
  call('ZREM', q .. ':x:' .. group, entry)
  if group == '' then return end
  call('ZREM', q .. ':f', entry)
  call('ZREM', q .. ':f:' .. group, entry)
  queue_up(q, group)
end

function standard.visible(q, entry, group)
  return score(q .. ':x:' .. group, entry)
end

function standard.pass_time(q, now)
end

-- Groups that hold at least NOISY_MIN messages, and more than their share of all, in flight.
local function noisy(q, now)
  local found, any = {}, false
  local loud = call('SMEMBERS', q .. ':loud')
  if #loud == 0 then return found, any end
  local most, least = call('ZCOUNT', q .. ':f', '(' .. integer(now), '+inf') * NOISY_SHARE, noisy_min(q)
  for _, group in ipairs(loud) do
    local key = q .. ':f:' .. group
    call('ZREMRANGEBYSCORE', key, '-inf', integer(now))
    local number = call('ZCARD', key)
    if number < least then
      call('SREM', q .. ':loud', group)
    elseif number > most then
      found[group], any = true, true
    end
  end
  return found, any
end

function standard.is_noisy(q, now)
  local _, any = noisy(q, now)
  return any
end

local function before(one, other)
  return one.us < other.us or (one.us == other.us and one.entry < other.entry)
end

-- Entries in the order of (visible_us, entry) up to a time, from all groups but those left out, one at each call: of the
-- first groups, `most` or a few more. And whether these are all. Nothing may be changed meanwhile.
local function walk(q, last_us, left_out, most)
  local heap, number = {}, 0

  local function sift(at)
    while true do
      local least, left = at, 2 * at
      if left <= number and before(heap[left], heap[least]) then least = left end
      if left < number and before(heap[left + 1], heap[least]) then least = left + 1 end
      if least == at then return end
      heap[at], heap[least] = heap[least], heap[at]
      at = least
    end
  end

  -- The next entry of a source; false: it has no more.
  local function step(source)
    source.at = source.at + 2
    if not source.some[source.at] then
      if source.some[1] and #source.some < 2 * source.step then return false end
      source.some = call('ZRANGE', source.key, '-inf', last_us, 'BYSCORE', 'LIMIT', source.passed, source.step, 'WITHSCORES')
      source.passed = source.passed + source.step
      source.at = 1
      if not source.some[1] then return false end
    end
    source.entry, source.us = source.some[source.at], tonumber(source.some[source.at + 1])
    return true
  end

  local function add(group, at_once)
    local source = {key = q .. ':x:' .. group, group = group, some = {}, at = -1, passed = 0, step = at_once}
    if step(source) then
      number = number + 1
      heap[number] = source
      local at = number
      while at > 1 and before(heap[at], heap[math.floor(at / 2)]) do
        local up = math.floor(at / 2)
        heap[at], heap[up] = heap[up], heap[at]
        at = up
      end
    end
  end

  add('', most)
  -- Of each of the first groups the first entries: those of others come after.
  local passed = 0
  local seen = 0
  while seen < most do
    local heads = call('ZRANGE', q .. ':h', '-inf', last_us, 'BYSCORE', 'LIMIT', passed, most)
    if #heads == 0 then break end
    passed = passed + #heads
    for _, member in ipairs(heads) do
      local group = string.sub(member, 12)
      if not left_out[group] then
        add(group, math.min(most, AT_ONCE))
        seen = seen + 1
      end
    end
  end
  return function()
    local source = heap[1]
    if not source then return nil end
    local entry, us, group = source.entry, source.us, source.group
    if not step(source) then
      heap[1] = heap[number]
      heap[number] = nil
      number = number - 1
    end
    if number > 1 then sift(1) end
    return entry, us, group
  end, seen < most
end

-- One round: entries are added to the draw, `need` at most, from all groups but those left out.
local function fill(q, draw, want, need, left_out, now)
  local size = need + (want.order_hint > 0 and want.order_hint or UNORDERED) - 1
  local window, chosen, most = {}, {}, size + #draw.dead + 8
  local function is_over()
    return #window >= size or #draw.dead >= MOST_DEAD or #draw.expired >= MOST_EXPIRED
  end
  while not is_over() do
    local after, has_all = walk(q, integer(now), left_out, most)
    local given = 0
    -- Those after `most` may be later than the first ones of other groups.
    while not is_over() and (has_all or given < most) do
      local entry, us, group = after()
      if not entry then break end
      given = given + 1
      if draw.met[entry] or chosen[entry] then
        -- In an earlier round, or walk.
      else
        local count, first_us = receives(q, entry)
        local item = {entry = entry, group = group, us = us, count = count, first_us = first_us}
        if want.sent_after_us > 0 and score(q .. ':a', entry) < want.sent_after_us then
          draw.met[entry] = true
          table.insert(draw.expired, item)
        elseif want.max_receives > 0 and count >= want.max_receives then
          draw.met[entry] = true
          table.insert(draw.dead, item)
        elseif draw.has_bound and call('HEXISTS', q .. ':y', entry) == 1 then
          draw.met[entry] = true
          table.insert(draw.bound, item)
        else
          chosen[entry] = true
          table.insert(window, item)
        end
      end
    end
    if has_all then break end
    -- Too many of them are what nobody gets.
    most = 4 * most
  end
  if #window > need then
    -- Which to leave out: as many as are too many, at random.
    for over = #window, need + 1, -1 do table.remove(window, math.random(over)) end
  end
  for _, item in ipairs(window) do
    draw.met[item.entry] = true
    table.insert(draw.entries, item)
  end
end

-- What a claim gets; nothing is changed by it.
function standard.draw(q, want, now)
  local draw = {entries = {}, dead = {}, expired = {}, bound = {}, met = {}, has_bound = call('EXISTS', q .. ':y') == 1}
  local loud, any = {}, false
  -- A lease takes all there is, and spares nobody.
  if not want.is_lease then loud, any = noisy(q, now) end
  fill(q, draw, want, want.limit, loud, now)
  if any and not want.spare_noisy and #draw.entries < want.limit then
    fill(q, draw, want, want.limit - #draw.entries, {}, now)
  end
  return draw
end

function standard.next_us(q)
  local _, plain = first_of(q .. ':x:')
  local _, grouped = first_of(q .. ':h')
  if plain and grouped then return math.min(plain, grouped) end
  return plain or grouped
end

function standard.sight(q, limit)
  local after, found = walk(q, '+inf', {}, limit), {}
  while #found < limit do
    local entry, us = after()
    if not entry then break end
    table.insert(found, {entry, us})
  end
  return found
end

function standard.holds(q, group)
  return false
end

function standard.drawn(q, draw)
end
