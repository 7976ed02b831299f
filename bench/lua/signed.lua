-- Load `signed`: SendMessage, one message a request, with a signature that the server checks.
-- The request is signed beforehand, and sent again and again: a signature is good for 15 minutes. The arguments after
-- the queue's URL are the body, and the headers as "Name: value".

local common = dofile(debug.getinfo(1, "S").source:match("@(.*/)") .. "common.lua")

setup = common.setup

function init(args)
  wrk.method = "POST"
  wrk.body = args[2]
  for i = 3, #args do
    local name, value = args[i]:match("^([^:]+): (.*)$")
    wrk.headers[name] = value
  end
end

function done(summary, latency)
  common.done(summary, latency, {})
end
