-- Load `receive10`: ReceiveMessage of ten, then DeleteMessageBatch of what came.
-- As in receive.lua, a thread keeps one list of what its connections have to delete.

local common = dofile(debug.getinfo(1, "S").source:match("@(.*/)") .. "common.lua")

local find, sub, concat = string.find, string.sub, table.concat
local receive, delete_head, delete_open
local batches, top = {}, 0

receives, deletes, responses, received, replies, refused = 0, 0, 0, 0, 0, 0

setup = common.setup

function init(args)
  receive = common.request("ReceiveMessage", string.format('{"QueueUrl":"%s","MaxNumberOfMessages":10}', args[1]))
  delete_head = common.head("DeleteMessageBatch")
  delete_open = string.format('{"QueueUrl":"%s","Entries":[', args[1])
end

function request()
  if top == 0 then
    receives = receives + 1
    return receive
  end
  local payload = delete_open .. batches[top] .. "]}"
  top = top - 1
  deletes = deletes + 1
  return delete_head .. #payload .. "\r\n\r\n" .. payload
end

-- The delete entries for all handles of a reply, or nil when it has none.
local function entries_of(body)
  local entries, count, at, _ = {}, 0, 0, nil
  while true do
    _, at = find(body, '"ReceiptHandle"', at + 1, true)
    if not at then
      break
    end
    local open = find(body, '"', at + 1, true)
    at = find(body, '"', open + 1, true)
    count = count + 1
    entries[count] = '{"Id":"' .. count .. '","ReceiptHandle":"' .. sub(body, open + 1, at - 1) .. '"}'
  end
  received = received + count
  return count > 0 and concat(entries, ",") or nil
end

function response(status, headers, body)
  responses = responses + 1
  local entries = entries_of(body)
  if entries then
    replies = replies + 1
    top = top + 1
    batches[top] = entries
  elseif find(body, '"SenderFault"', 1, true) then
    -- Only an entry of "Failed" has this field.
    refused = refused + 1
  end
end

function done(summary, latency)
  common.done(summary, latency, { "receives", "deletes", "responses", "received", "replies", "refused" })
end
