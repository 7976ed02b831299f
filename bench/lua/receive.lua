-- Load `receive`: ReceiveMessage of one, then DeleteMessage of what came, each counted as a request.
-- wrk does not tell Lua which connection it is on, so a thread keeps one list of handles to delete: each
-- received message is deleted once, right after, by whichever connection of the thread is free first.

local common = dofile(debug.getinfo(1, "S").source:match("@(.*/)") .. "common.lua")

local find, sub = string.find, string.sub
local receive, delete_head, delete_open, close, fixed_length
local handles, top = {}, 0

receives, deletes, responses, received = 0, 0, 0, 0

setup = common.setup

function init(args)
  receive = common.request("ReceiveMessage", string.format('{"QueueUrl":"%s","MaxNumberOfMessages":1}', args[1]))
  delete_head = common.head("DeleteMessage")
  delete_open = string.format('{"QueueUrl":"%s","ReceiptHandle":"', args[1])
  close = '"}'
  fixed_length = #delete_open + #close
end

function request()
  if top == 0 then
    receives = receives + 1
    return receive
  end
  local handle = handles[top]
  top = top - 1
  deletes = deletes + 1
  return delete_head .. (fixed_length + #handle) .. "\r\n\r\n" .. delete_open .. handle .. close
end

function response(status, headers, body)
  responses = responses + 1
  local _, at = find(body, '"ReceiptHandle"', 1, true)
  if at then
    local open = find(body, '"', at + 1, true)
    top = top + 1
    handles[top] = sub(body, open + 1, find(body, '"', open + 1, true) - 1)
    received = received + 1
  end
end

function done(summary, latency)
  common.done(summary, latency, { "receives", "deletes", "responses", "received" })
end
