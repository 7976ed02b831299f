-- What every load shares: the request head, the 1 KB body, and the one line of JSON that load.py reads.
-- The loads get the queue's URL as their one argument after "--".

local common = {}

-- What a real client sends, in shape; servers without accounts take any signature.
local HEADERS = {
  ["Content-Type"] = "application/x-amz-json-1.0",
  ["X-Amz-Date"] = "20250101T000000Z",
  ["Authorization"] = "AWS4-HMAC-SHA256 Credential=bench/20250101/us-east-1/sqs/aws4_request, "
    .. "SignedHeaders=host;x-amz-date;x-amz-target, Signature="
    .. string.rep("0", 64),
}

local ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 -"

-- Letters that JSON need not escape, mixed so that nothing in the path gains from a run of one letter.
local function text(length)
  local letters, state = {}, 42
  for i = 1, length do
    state = (state * 1103515245 + 12345) % 2147483648
    local at = math.floor(state / 65536) % 64 + 1
    letters[i] = ALPHABET:sub(at, at)
  end
  return table.concat(letters)
end

common.body = text(1024)

-- The whole request that never changes, in wrk's own form: wrk then calls no Lua while it runs.
function common.fixed(operation, payload)
  wrk.method = "POST"
  wrk.body = payload
  for name, value in pairs(HEADERS) do
    wrk.headers[name] = value
  end
  wrk.headers["X-Amz-Target"] = "AmazonSQS." .. operation
end

-- Everything of a request up to the number in Content-Length.
function common.head(operation)
  local lines = { "POST / HTTP/1.1", "Host: " .. wrk.headers["Host"], "X-Amz-Target: AmazonSQS." .. operation }
  for name, value in pairs(HEADERS) do
    table.insert(lines, name .. ": " .. value)
  end
  table.insert(lines, "Content-Length: ")
  return table.concat(lines, "\r\n")
end

function common.request(operation, payload)
  return common.head(operation) .. #payload .. "\r\n\r\n" .. payload
end

local threads = {}

function common.setup(thread)
  table.insert(threads, thread)
end

local function sum(counter)
  local total = 0
  for _, thread in ipairs(threads) do
    total = total + (thread:get(counter) or 0)
  end
  return total
end

-- Prints the result line; `counters` names global numbers of the threads to add up.
function common.done(summary, latency, counters)
  local fields = {}
  local function put(name, value)
    table.insert(fields, string.format('"%s":%.0f', name, value))
  end
  put("requests", summary.requests)
  put("duration_us", summary.duration)
  put("p50_us", latency:percentile(50))
  put("p99_us", latency:percentile(99))
  for _, kind in ipairs({ "connect", "read", "write", "status", "timeout" }) do
    put("error_" .. kind, summary.errors[kind])
  end
  for _, counter in ipairs(counters) do
    put(counter, sum(counter))
  end
  io.write("RESULT {" .. table.concat(fields, ",") .. "}\n")
end

return common
