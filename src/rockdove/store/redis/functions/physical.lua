-- The verbs of a physical queue. Times come from the caller: all front-ends have the same.

local function kind_of(q)
  return call('HGET', q, 'fifo') == '1' and fifo or standard
end

-- Give an entry another time, and put it where it then belongs.
local function place(q, kind, entry, group, visible_us, count, now)
  -- What is leased does not expire.
  local from, to = q .. ':al', q .. ':a'
  if visible_us == LEASED then from, to = to, from end
  local sent_us = score(from, entry)
  if sent_us then
    call('ZREM', from, entry)
    call('ZADD', to, sent_us, entry)
  end
  if count > 0 and (visible_us > now or kind == standard) then
    call('ZADD', q .. ':i', visible_us, entry)
    call('ZREM', q .. ':d', entry)
  else
    call('ZREM', q .. ':i', entry)
    if count == 0 and visible_us > now then
      call('ZADD', q .. ':d', visible_us, entry)
    else
      call('ZREM', q .. ':d', entry)
    end
  end
  kind.place(q, entry, group, visible_us, count, now)
end

-- It is not being moved any more.
local function stay(q, entry)
  if call('HDEL', q .. ':y', entry) == 1 then call('ZREM', 'rd:moving', string.sub(q, 5, -2) .. ':' .. entry) end
end

local function forget(q, kind, entry, now)
  if call('HDEL', q .. ':m', entry) == 0 then return false end
  local group = group_of(q, entry)
  kind.forget(q, entry, group, now)
  for _, of in ipairs({':e', ':a', ':al', ':i', ':d'}) do call('ZREM', q .. of, entry) end
  for _, of in ipairs({':r', ':g', ':l'}) do call('HDEL', q .. of, entry) end
  stay(q, entry)
  return true
end

-- Whether one that leaves still takes these: all that are no duplicates are of groups that it holds.
local function takes(q, h, kind, drafts, now)
  local keys = {}
  for _, draft in ipairs(drafts) do
    local is_known = draft.key ~= '' and (keys[draft.key] or copy_in(recall(h .. ':k', draft.key, now, KEPT_US)))
    if not is_known then
      if not kind.holds(q, draft.group) then return false end
      keys[draft.key] = true
    end
  end
  return true
end

local GONE = {err = 'GONE the physical queue is gone, or takes no more messages'}

local function read_drafts(args, at)
  local drafts = {}
  for first = at, #args, 7 do
    table.insert(drafts, {
      visible_us = tonumber(args[first]), sent_us = tonumber(args[first + 1]), group = args[first + 2],
      key = args[first + 3], once = args[first + 4], message_id = args[first + 5], value = args[first + 6]
    })
  end
  return drafts
end

-- What was sent by the same key before: number of the physical queue, entry, message id.
local function copy_of(q, h, kind, draft, now)
  local number, entry, message_id
  if draft.key ~= '' and kind == fifo then
    number, entry, message_id = copy_in(recall(h .. ':k', draft.key, now, KEPT_US))
  end
  if not entry and draft.once ~= '' then
    -- A transfer that was interrupted is made again.
    number, entry, message_id = copy_in(recall(q .. ':o', draft.once, now, ONCE_US))
  end
  return number, entry, message_id
end

-- <h> is where the keys are: the home of the logical queue, or the physical queue itself.
local function add(q, h, drafts, now)
  local kind = kind_of(q)
  kind.pass_time(q, now)
  local sequence, prefix = unpack(call('HMGET', q, 'sequence', 'prefix'))
  sequence = tonumber(sequence or 0)
  local own = string.sub(q, 5, -2)
  local appended, visible, next_us = {}, 0, nil
  for _, draft in ipairs(drafts) do
    local number, entry, message_id = copy_of(q, h, kind, draft, now)
    if not entry then
      sequence = sequence + 1
      number, entry = own, string.format('%010x', sequence)
      message_id = draft.message_id ~= '' and draft.message_id or (prefix or '') .. entry
      call('HSET', q .. ':m', entry, draft.value)
      call('ZADD', q .. ':e', sequence, entry)
      call('ZADD', q .. ':a', draft.sent_us, entry)
      if draft.group ~= '' then call('HSET', q .. ':g', entry, draft.group) end
      place(q, kind, entry, draft.group, draft.visible_us, 0, now)
      local copy = '=' .. own .. ':' .. entry .. ':' .. message_id
      if draft.key ~= '' and kind == fifo then remember(h .. ':k', draft.key, copy, now, KEPT_US) end
      if draft.once ~= '' then remember(q .. ':o', draft.once, copy, now, ONCE_US) end
      if draft.visible_us <= now then
        visible = visible + 1
      else
        next_us = math.min(next_us or draft.visible_us, draft.visible_us)
      end
    end
    for _, each in ipairs({number, entry, message_id}) do table.insert(appended, each) end
  end
  call('HSET', q, 'sequence', integer(sequence))
  tell(q, visible, next_us)
  return appended
end

-- What was appended by transfers to a physical queue that is no more.
local function all_known(q, drafts, now)
  local found = {}
  for _, draft in ipairs(drafts) do
    local number, entry, message_id
    if draft.once ~= '' then number, entry, message_id = copy_in(recall(q .. ':o', draft.once, now, ONCE_US)) end
    if not entry then return nil end
    for _, each in ipairs({number, entry, message_id}) do table.insert(found, each) end
  end
  return #drafts > 0 and found or nil
end

-- What the records say by which somebody asks: 1 if the physical queue leaves, and their version, which is that of the
-- last change of any. Whoever has changed this one tells, too, but may die first, or come late. The state, and whether
-- somebody has told of a later version.
local function learn(q, word)
  local leaves, version = string.match(word, '^(%d) (%d+)$')
  local state, known = unpack(call('HMGET', q, 'state', 'version'))
  version, known = tonumber(version), tonumber(known or 0)
  if version > known and (state == 'up' or state == 'leaving' or state == 'closed') then
    state = leaves == '1' and 'leaving' or 'up'
    call('HSET', q, 'state', state, 'version', integer(version))
  end
  return state, version < known
end

local function leaves(word)
  return string.sub(word, 1, 1) == '1'
end

local function refuses(q, h, word, drafts, now)
  local state = learn(q, word)
  if not state or state == 'dropped' or state == 'closed' then return true end
  return (leaves(word) or state == 'leaving') and not takes(q, h, kind_of(q), drafts, now)
end

-- Whether a message by one of these keys is on its way to another server, as far as the home knows.
local function is_marked(h, drafts, now)
  for _, draft in ipairs(drafts) do
    if draft.key ~= '' and string.sub(recall(h .. ':k', draft.key, now, KEPT_US) or '', 1, 1) == '?' then return true end
  end
  return false
end

local MARKED = {err = 'MARKED somebody else sends by the same key'}

local function is_void(h, drafts, now)
  for _, draft in ipairs(drafts) do
    if draft.key ~= '' and recall(h .. ':k', draft.key, now, KEPT_US) == '!' then return true end
  end
  return false
end

-- What is appended once is refused once and for all: it may have gone elsewhere since.
local function was_refused(q, drafts, now)
  for _, draft in ipairs(drafts) do
    if draft.once ~= '' and recall(q .. ':o', draft.once, now, ONCE_US) == '!' then return true end
  end
  return false
end

local function refuse(q, drafts, now)
  for _, draft in ipairs(drafts) do
    if draft.once ~= '' and not recall(q .. ':o', draft.once, now, ONCE_US) then
      remember(q .. ':o', draft.once, '!', now, ONCE_US)
    end
  end
  return GONE
end

-- now, what the record says, then of each draft: visible_us, sent_us, group, deduplication key or token, key of what is appended
-- once, message id, value.
local function append(keys, args)
  local q, h, now, drafts = keys[1], keys[2], tonumber(args[1]), read_drafts(args, 3)
  if was_refused(q, drafts, now) or refuses(q, h, args[2], drafts, now) then
    return all_known(q, drafts, now) or refuse(q, drafts, now)
  end
  if is_void(h, drafts, now) then return {err = 'VOID somebody else was quicker'} end
  if is_marked(h, drafts, now) then return MARKED end
  return add(q, h, drafts, now)
end

-- On a FIFO queue, messages of the same groups may be claimed now.
local function removed(q, kind, number)
  if kind == fifo then tell(q, number) end
end

-- From one physical queue to another of the same server: now, what the record says, number of entries, these, then their drafts.
-- 'bound': one of them, or another message by its key, may have gone elsewhere.
local function transfer(keys, args)
  local source, target, h, now, number = keys[1], keys[2], keys[3], tonumber(args[1]), tonumber(args[3])
  local drafts = read_drafts(args, 4 + number)
  for at = 1, number do
    if call('HEXISTS', source .. ':y', args[3 + at]) == 1 then return 'bound' end
  end
  if is_marked(h, drafts, now) then return 'bound' end
  if refuses(target, h, args[2], drafts, now) then return GONE end
  local taken, here = {}, exists(source) and kind_of(source) or nil
  if here then here.pass_time(source, now) end
  for at, draft in ipairs(drafts) do
    if here and forget(source, here, args[3 + at], now) then table.insert(taken, draft) end
  end
  if here then removed(source, here, #taken) end
  return add(target, h, taken, now)
end

-- Before entries go to another server it is written down where to, and under which token, once: now, number of the
-- target, token, entries. For each, where it goes ('' if it is gone), by which token, and whether this call has decided
-- it. A star behind the token: several take it there.
local function send_off(keys, args)
  local q, found = keys[1], {}
  for at = 4, #args do
    local target, token, is_new = '', '', 0
    if exists(q) and call('HEXISTS', q .. ':m', args[at]) == 1 then
      is_new = call('HSETNX', q .. ':y', args[at], args[2] .. ' ' .. args[3])
      target, token = string.match(call('HGET', q .. ':y', args[at]), '^(%d+) (%x+)')
      if is_new == 0 then call('HSET', q .. ':y', args[at], target .. ' ' .. token .. '*') end
      call('ZADD', 'rd:moving', args[1], string.sub(q, 5, -2) .. ':' .. args[at])
    end
    for _, word in ipairs({target, token, is_new}) do table.insert(found, word) end
  end
  return found
end

-- They did not go there: token, 1 if they have been refused for good, entries. If the one who would have taken them could
-- not, others still may.
local function call_back(keys, args)
  for at = 3, #args do
    local token, star = string.match(call('HGET', keys[1] .. ':y', args[at]) or '', '^%d+ (%x+)(%*?)$')
    if token == args[1] and (args[2] == '1' or star == '') then stay(keys[1], args[at]) end
  end
  return 1
end

-- before, at most. What has been on its way from this server since then: {number, entry, target, token, ...}
local function moving(keys, args)
  local found = {}
  for _, member in ipairs(call('ZRANGE', 'rd:moving', '-inf', args[1], 'BYSCORE', 'LIMIT', 0, args[2])) do
    local number, entry = string.match(member, '^(%d+):(%x+)$')
    local q = 'rd:{' .. number .. '}'
    local target = exists(q) and call('HGET', q .. ':y', entry)
    if target then
      for _, word in ipairs({number, entry, string.match(target, '^(%d+) (%x+)')}) do table.insert(found, word) end
    else
      call('ZREM', 'rd:moving', member)
    end
  end
  return found
end

-- now, key. 1: what was to be appended once is there. 0: it is not, and never will be.
local function ask_once(keys, args)
  local known = recall(keys[1] .. ':o', args[2], tonumber(args[1]), ONCE_US)
  if not known then remember(keys[1] .. ':o', args[2], '!', tonumber(args[1]), ONCE_US) end
  return copy_in(known) and 1 or 0
end

-- now, keys. The source has no more of them: only somebody who began before that may ask for these keys again.
local function forget_once(keys, args)
  for at = 2, #args do keep_for_the_late(keys[1] .. ':o', args[at], tonumber(args[1]), KEPT_US) end
  return 1
end

local function in_flight(q, now)
  return call('ZCOUNT', q .. ':i', '(' .. integer(now), '+inf')
end

local function shown(q, items)
  local found = {}
  for _, item in ipairs(items) do
    for _, each in ipairs({item.entry, integer(item.us), integer(item.count), integer(item.first_us), item.value}) do
      table.insert(found, each)
    end
  end
  return found
end

-- Of drawn items those that there is room for, with what they hold, and how many bytes that is; the others are left
-- where they were. 0 is without a bound.
local function fit(q, kind, items, room_bytes)
  local kept, size = {}, 0
  for _, item in ipairs(items) do
    if room_bytes > 0 and size >= room_bytes then
      if kind == fifo then call('ZADD', q .. ':w:' .. item.group, tonumber(item.entry, 16), item.entry) end
    else
      item.value = call('HGET', q .. ':m', item.entry)
      size = size + size_of(item.value)
      table.insert(kept, item)
    end
  end
  return kept, size
end

-- `claimed` is called with each entry before it is changed.
local function take(q, kind, want, now, visible_us, claimed)
  local draw = kind.draw(q, want, now)
  local size
  -- The dead are moved in one step.
  draw.dead = fit(q, kind, draw.dead, MOST_DEAD_BYTES)
  draw.entries, size = fit(q, kind, draw.entries, want.room_bytes)
  if want.room_bytes == 0 then size = 0 end
  local expired, next_us = {}, nil
  for _, item in ipairs(draw.expired) do
    forget(q, kind, item.entry, now)
    table.insert(expired, item.entry)
  end
  for _, item in ipairs(draw.bound) do
    -- A copy of it may be elsewhere: that is found out first.
    place(q, kind, item.entry, item.group, now + BOUND_US, math.max(item.count, 1), now)
  end
  for _, item in ipairs(draw.dead) do
    item.us = now + want.timeout_us
    place(q, kind, item.entry, item.group, item.us, item.count, now)
    next_us = item.us
  end
  for _, item in ipairs(draw.entries) do
    if claimed then claimed(item) end
    item.us, item.count = visible_us, item.count + 1
    if item.first_us == 0 then item.first_us = now end
    set_receives(q, item.entry, item.count, item.first_us)
    place(q, kind, item.entry, item.group, item.us, item.count, now)
    if visible_us ~= LEASED then next_us = math.min(next_us or visible_us, visible_us) end
  end
  kind.drawn(q, draw)
  -- What was claimed is visible again when its timeout has passed.
  tell(q, 0, next_us)
  return draw, size, expired
end

local function next_of(q, kind)
  local next_us = kind.next_us(q)
  if not next_us or next_us >= LEASED then return '' end
  return integer(next_us)
end

local function wanted(args, at)
  return {
    limit = tonumber(args[at]), timeout_us = tonumber(args[at + 1]), order_hint = tonumber(args[at + 2]),
    max_receives = tonumber(args[at + 3]), sent_after_us = tonumber(args[at + 4]), delay_us = tonumber(args[at + 5]),
    spare_noisy = args[at + 6] == '1', room_bytes = tonumber(args[at + 7]), repeats = args[at + 8] == '1'
  }
end

local function remember_attempt(q, attempt, items, claimed_us, now)
  local parts = {integer(claimed_us)}
  for _, item in ipairs(items) do
    table.insert(parts, item.entry .. '/' .. integer(item.us) .. '/' .. integer(item.count))
  end
  remember(q .. ':p', attempt, table.concat(parts, ' '), now, KEPT_US)
end

-- What the same attempt got before, if all of it is as it was left.
local function claim_again(q, kind, attempt, timeout_us, now)
  local text = recall(q .. ':p', attempt, now, KEPT_US)
  if not text then return nil end
  local claimed_us, rest = string.match(text, '^(%d+) ?(.*)$')
  local items = {}
  for entry, us, count in string.gmatch(rest, '(%x+)/(%d+)/(%d+)') do
    local now_count, first_us = receives(q, entry)
    if score(q .. ':i', entry) ~= tonumber(us) or now_count ~= tonumber(count) then return nil end
    table.insert(items, {entry = entry, us = now + timeout_us, count = now_count, first_us = first_us})
  end
  for _, item in ipairs(items) do
    item.value = call('HGET', q .. ':m', item.entry)
    place(q, kind, item.entry, group_of(q, item.entry), item.us, item.count, now)
  end
  remember_attempt(q, attempt, items, tonumber(claimed_us), now)
  tell(q, 0, now + timeout_us)
  return {'', claimed_us, '0', {}, shown(q, items), {}, in_flight(q, now)}
end

-- now, seed, attempt, max_in_flight, how many in flight make a group noisy, then what is wanted.
-- {next_us, claimed_us, bytes, expired, entries, dead, in flight}.
local function claim(keys, args)
  local q, now = keys[1], tonumber(args[1])
  if not exists(q) then return 'gone' end
  local kind, want = kind_of(q), wanted(args, 6)
  kind.set_noisy(q, args[5])
  kind.pass_time(q, now)
  local most = tonumber(args[4])
  if most > 0 and in_flight(q, now) >= most then return 'crowded' end
  if args[3] ~= '' and kind == fifo then
    local again = claim_again(q, kind, args[3], want.timeout_us, now)
    if again then return again end
    if want.repeats then return {'', integer(now), '0', {}, {}, {}, in_flight(q, now)} end
  end
  math.randomseed(tonumber(args[2]))
  local draw, size, expired = take(q, kind, want, now, now + want.timeout_us)
  if args[3] ~= '' and kind == fifo and #draw.entries > 0 then remember_attempt(q, args[3], draw.entries, now, now) end
  local next_us = #draw.entries > 0 and '' or next_of(q, kind)
  return {
    next_us, integer(now), integer(size), expired, shown(q, draw.entries), shown(q, draw.dead), in_flight(q, now)
  }
end

local function is_received(q, kind, entry, now)
  local count = receives(q, entry)
  if count == 0 then return false, 0 end
  local visible_us = kind.visible(q, entry, group_of(q, entry))
  if not visible_us or visible_us >= LEASED then return false, count end
  return visible_us > now or kind ~= fifo, count, visible_us
end

local function is_held(q, kind, entry, count, now)
  local received, number, visible_us = is_received(q, kind, entry, now)
  return received and visible_us > now and number == count
end

-- now, entry, visible_us, receive count or ''.
local function move(keys, args)
  local q, now, entry, visible_us = keys[1], tonumber(args[1]), args[2], tonumber(args[3])
  if not exists(q) then return 0 end
  local kind = kind_of(q)
  kind.pass_time(q, now)
  local received, count = is_received(q, kind, entry, now)
  if args[4] ~= '' then received = is_held(q, kind, entry, tonumber(args[4]), now) end
  if not received then return 0 end
  place(q, kind, entry, group_of(q, entry), visible_us, count, now)
  if visible_us <= now then tell(q, 1) else tell(q, 0, visible_us) end
  return 1
end

-- now, receive count or '', entries. For each, whether it was there.
local function remove(keys, args)
  local q, now, count = keys[1], tonumber(args[1]), args[2]
  local found, number = {}, 0
  if not exists(q) then
    for at = 3, #args do found[at - 2] = 0 end
    return found
  end
  local kind = kind_of(q)
  kind.pass_time(q, now)
  for at = 3, #args do
    local goes = count == '' or is_held(q, kind, args[at], tonumber(count), now)
    goes = goes and forget(q, kind, args[at], now)
    found[at - 2] = goes and 1 or 0
    number = number + found[at - 2]
  end
  removed(q, kind, number)
  return found
end

-- now, then of each entry: its name, visible_us and receive count as the claim left them.
local function release(keys, args)
  local q, now = keys[1], tonumber(args[1])
  if not exists(q) then return 0 end
  local kind, number = kind_of(q), 0
  kind.pass_time(q, now)
  for at = 2, #args, 3 do
    local entry = args[at]
    local count, first_us = receives(q, entry)
    local group = group_of(q, entry)
    -- Only what is still as the claim left it: somebody else may hold it by now.
    if count > 0 and count == tonumber(args[at + 2]) and kind.visible(q, entry, group) == tonumber(args[at + 1]) then
      set_receives(q, entry, count - 1, first_us)
      place(q, kind, entry, group, now, count - 1, now)
      number = number + 1
    end
  end
  tell(q, number)
  return number
end

local function count(keys, args)
  local q, now = keys[1], tonumber(args[1])
  if not exists(q) then return {0, 0, 0, 0} end
  local flying = in_flight(q, now)
  local delayed = call('ZCOUNT', q .. ':d', '(' .. integer(now), '+inf')
  return {call('HLEN', q .. ':m') - flying - delayed, flying, delayed, call('HLEN', q .. ':y')}
end

local function count_in_flight(keys, args)
  return exists(keys[1]) and in_flight(keys[1], tonumber(args[1])) or 0
end

-- {next_us, whether it holds any, whether a group may be noisy}.
local function hint(keys, args)
  local q, now = keys[1], tonumber(args[1])
  if not exists(q) then return {'', 0, 0} end
  local kind = kind_of(q)
  return {next_of(q, kind), call('EXISTS', q .. ':m'), kind.is_noisy(q, now) and 1 or 0}
end

local function look(q, kind, entry)
  local value = call('HGET', q .. ':m', entry)
  if not value then return nil end
  local number, first_us = receives(q, entry)
  local us = kind.visible(q, entry, group_of(q, entry))
  return {entry = entry, us = us, count = number, first_us = first_us, value = value}
end

-- Entries as they are; those that are gone are left out.
local function find(keys, args)
  local q, found = keys[1], {}
  if not exists(q) then return found end
  local kind = kind_of(q)
  for _, entry in ipairs(args) do table.insert(found, look(q, kind, entry)) end
  return shown(q, found)
end

-- what the record says, groups. Who asks because it leaves is sure that it takes no more of the groups it does not hold.
local function holds(keys, args)
  local q, found = keys[1], {}
  local kind = exists(q) and kind_of(q) or nil
  if kind and leaves(args[1]) then
    local state, is_old = learn(q, args[1])
    -- It has come back since, and takes more. (If the state is the same, so is what both records say of it.)
    if is_old and state == 'up' then return GONE end
    if state == 'up' then call('HSET', q, 'state', 'leaving') end
  end
  for at = 2, #args do found[at - 1] = kind and kind.holds(q, args[at]) and 1 or 0 end
  return found
end

-- Looking around.

local function oldest(keys, args)
  local _, one = first_of(keys[1] .. ':a')
  local _, other = first_of(keys[1] .. ':al')
  if one and other then one = math.min(one, other) end
  return (one or other) and integer(one or other) or ''
end

local function sight(keys, args)
  local q, found = keys[1], {}
  if not exists(q) then return found end
  for _, seen in ipairs(kind_of(q).sight(q, tonumber(args[1]))) do
    table.insert(found, seen[1])
    table.insert(found, integer(seen[2]))
    -- About what the message has: to read all of them for it takes long.
    table.insert(found, call('HSTRLEN', q .. ':m', seen[1]))
  end
  return found
end

-- after, limit, room_bytes, sent_from_us, sent_until_us, group with a mark before it or '', most to pass over.
-- {entries, the entry to go on after or ''}.
local function scan(keys, args)
  local q = keys[1]
  if not exists(q) then return {{}, ''} end
  local kind, limit, room, most = kind_of(q), tonumber(args[2]), tonumber(args[3]), tonumber(args[7])
  local from_us, until_us, group = tonumber(args[4]), tonumber(args[5]), args[6]
  local found, last, passed, after = {}, '', 0, tonumber(args[1])
  while true do
    local page = call('ZRANGE', q .. ':e', '(' .. integer(after), '+inf', 'BYSCORE', 'LIMIT', 0, 100)
    if #page == 0 then return {shown(q, found), ''} end
    for _, entry in ipairs(page) do
      if #found == limit or room <= 0 or passed == most then return {shown(q, found), last} end
      last, after = entry, tonumber(entry, 16)
      local sent_us = score(q .. ':a', entry) or score(q .. ':al', entry)
      if sent_us >= from_us and sent_us < until_us and (group == '' or group == '=' .. group_of(q, entry)) then
        local item = look(q, kind, entry)
        table.insert(found, item)
        room = room - size_of(item.value)
      else
        passed = passed + 1
      end
    end
  end
end

-- Upkeep.

-- now, sent_after_us, most.
local function expire(keys, args)
  local q, now = keys[1], tonumber(args[1])
  if not exists(q) then return {} end
  local kind = kind_of(q)
  kind.pass_time(q, now)
  local old = call('ZRANGE', q .. ':a', '-inf', '(' .. args[2], 'BYSCORE', 'LIMIT', 0, tonumber(args[3]))
  for _, entry in ipairs(old) do forget(q, kind, entry, now) end
  removed(q, kind, #old)
  return old
end

-- now, delay_us, cursor, entries at a time. Where to go on; 0: that was all.
local function retime(keys, args)
  local q, now, delay_us = keys[1], tonumber(args[1]), tonumber(args[2])
  if not exists(q) or kind_of(q) ~= fifo then return '0' end
  fifo.pass_time(q, now)
  fifo.set_delay(q, delay_us)
  local page = call('ZSCAN', q .. ':a', args[3], 'COUNT', args[4])
  for at = 1, #page[2], 2 do
    local entry = page[2][at]
    if call('HEXISTS', q .. ':r', entry) == 0 then
      place(q, fifo, entry, group_of(q, entry), tonumber(page[2][at + 1]) + delay_us, 0, now)
    end
  end
  tell(q, 1)
  return page[1]
end

redis.register_function{function_name = 'rd_append', callback = append}
register('rd_claim', claim)
register('rd_move', move)
register('rd_remove', remove)
register('rd_release', release)
register('rd_holds', holds)
register('rd_expire', expire)
register('rd_retime', retime)
register('rd_count', count)
register('rd_in_flight', count_in_flight)
register('rd_hint', hint)
register('rd_find', find)
register('rd_oldest', oldest)
register('rd_sight', sight)
register('rd_scan', scan)
redis.register_function{function_name = 'rd_transfer', callback = transfer}
register('rd_send_off', send_off)
register('rd_moving', moving)
register('rd_ask_once', ask_once)
register('rd_call_back', call_back)
register('rd_forget_once', forget_once)
