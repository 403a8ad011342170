local json = require "dkjson"

local fifo = os.tmpname()
os.remove(fifo)
assert(os.execute("mkfifo -m 600 " .. fifo))
local requests = io.popen("exec defaults bridge >" .. fifo, "w")
requests:setvbuf("line")
local answers = assert(io.open(fifo))
os.remove(fifo)

requests:write(json.encode {
    request = 1, type = "subscribe", from = "snapshot", mode = "latest", domains = { "org.example.editor" }
}, "\n")
for line in answers:lines() do
    local message = json.decode(line)
    if message.type == "initial" then
        for key, value in pairs(message.values) do print(key .. " = " .. json.encode(value)) end
    elseif message.type == "change" then
        for _, change in ipairs(message.changes) do print(change.key .. " = " .. json.encode(change.new)) end
    end
end
