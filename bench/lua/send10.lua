-- Load `send10`: SendMessageBatch, ten messages a request.

local common = dofile(debug.getinfo(1, "S").source:match("@(.*/)") .. "common.lua")

setup = common.setup

function init(args)
  local entries = {}
  for i = 1, 10 do
    entries[i] = string.format('{"Id":"%d","MessageBody":"%s"}', i, common.body)
  end
  local payload = string.format('{"QueueUrl":"%s","Entries":[%s]}', args[1], table.concat(entries, ","))
  common.fixed("SendMessageBatch", payload)
end

function done(summary, latency)
  common.done(summary, latency, {})
end
