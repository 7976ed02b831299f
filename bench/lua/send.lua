-- Load `send`: SendMessage, one message a request.

local common = dofile(debug.getinfo(1, "S").source:match("@(.*/)") .. "common.lua")

setup = common.setup

function init(args)
  common.fixed("SendMessage", string.format('{"QueueUrl":"%s","MessageBody":"%s"}', args[1], common.body))
end

function done(summary, latency)
  common.done(summary, latency, {})
end
