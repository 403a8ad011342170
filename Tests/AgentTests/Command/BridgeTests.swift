import DefaultsCore
import Foundation
import Glibc
import ProgramSupport
import PropertyList
import Synchronization
import TestSupport
import Testing

@testable import DefaultsCommand

/// `defaults bridge` and `defaults socket`.
@Suite("`defaults bridge`")
struct BridgeTests {
    private static func start(_ place: AgentProcess.Place, _ arguments: String...) throws -> RunningProgram {
        try RunningProgram(
            Programs.defaults, ["bridge"] + arguments, environment: place.environment, takesInput: true)
    }

    @Test("Requests are answered under their numbers, with the types of their values, and the end of input ends it")
    func answers() throws {
        try AgentProcess.withAgent { agent in
            let bridge = try Self.start(agent.place)
            let welcome = try bridge.object()
            #expect(welcome["type"] as? String == "welcome" && welcome["pid"] as? Int == Int(agent.pid))
            let values =
                #"{"big":{"$integer":"9007199254740993"},"data":{"$data":"AQI="},"#
                + #""date":{"$date":"2026-01-02T03:04:05Z"},"list":[1,1.5,true],"nan":{"$real":"nan"},"two":2.0}"#
            try bridge.send(#"{"request":1,"type":"edit","domain":"a.b","set":\#(values)}"#)
            #expect(try bridge.object()["type"] as? String == "edited")
            try bridge.send(#"{"request":2.0,"type":"read","domain":"a.b"}"#)
            let line = try #require(bridge.line())
            #expect(line.contains(#""values":\#(values)"#) && line.contains(#""request":2"#), "\(line)")
            let outcome = try bridge.finish(#"{"request":3e0,"type":"synchronize"}"#)
            #expect(outcome.status == 0 && outcome.output.contains(#""failures":[],"request":3"#), "\(outcome)")
            #expect(try agent.defaults("read-type", "a.b", "big").output.contains("integer"))
        }
    }

    @Test("A wrong line is answered with what is wrong with it, and the next one is served")
    func wrongLines() throws {
        try AgentProcess.withAgent { agent in
            let bridge = try Self.start(agent.place)
            _ = try bridge.object()
            let lines = [
                (#"{"request":1,"#, "JSON, line 1, column 14"), ("[1]", "Line 2: A request must be an object"),
                (#"{"type":"read"}"#, #""request""#), (#"{"request":1,"type":"read"}"#, #""domain""#),
                (#"{"request":1,"type":"hello"}"#, "connects by itself"),
                (#"{"request":0,"type":"status"}"#, "request"),
                (#"{"request":1,"type":"nonsense"}"#, "doesn't know"),
                (#"{"request":1,"type":"edit","domain":"a.b","set":{"k":null}}"#, "null"),
                (#"{"request":1,"type":"subscribe","from":"now","mode":"every"}"#, #""mode""#),
            ]
            for (line, complaint) in lines {
                try bridge.send(line)
                let answer = try bridge.object()
                #expect(answer["type"] as? String == "failure")
                #expect((answer["message"] as? String)?.contains(complaint) == true, "\(line): \(answer)")
            }
            // The one who asks waits for an answer to this number.
            for value in ["null", #"{"$date":"soon"}"#, "99999999999999999999", #"{"$data":"*"}"#] {
                try bridge.send(#"{"type":"edit","domain":"a.b","set":{"k":"# + value + #"},"request":41}"#)
                let answer = try bridge.object()
                #expect(answer["code"] as? String == "invalidValue")
                #expect((answer["request"] as? NSNumber)?.intValue == 41, "\(value): \(answer)")
            }
            // A line that is too long is refused once.
            let data = String(repeating: "A", count: 90 << 20)
            try bridge.send(#"{"request":1,"type":"edit","domain":"a.b","set":{"k":{"$data":"\#(data)"}}}"#)
            #expect((try bridge.object()["message"] as? String)?.contains("the limit is") == true)
            let outcome = try bridge.finish(#"{"request":1,"type":"domains"}"#)
            #expect(
                outcome.status == 0 && outcome.output == #"{"domains":[],"request":1,"type":"domains"}"# + "\n")
        }
    }

    @Test("A stream goes on after a restart of the agent, and an edit that the former one didn't answer is made once")
    func restart() throws {
        try AgentProcess.withAgent { agent in
            let bridge = try Self.start(agent.place)
            _ = try bridge.object()
            try bridge.send(#"{"request":1,"type":"subscribe","from":"now","mode":"everything","domains":["a.b"]}"#)
            _ = try bridge.objects(upTo: "bookmark")
            agent.signal(SIGSTOP)
            try bridge.send(#"{"request":2,"type":"edit","domain":"a.b","set":{"first":1}}"#)
            try bridge.send(#"{"request":3,"type":"edit","domain":"a.b","set":{"second":2}}"#)
            agent.kill()
            let next = try AgentProcess(agent.place)
            defer { next.kill() }
            var changes: [String] = []
            var answers: [Int] = []
            while answers.count < 2 || changes.count < 2 {
                let object = try bridge.object()
                if object["type"] as? String == "edited" { answers.append(object["request"] as? Int ?? 0) }
                for change in object["changes"] as? [[String: Any]] ?? [] {
                    changes.append(change["key"] as? String ?? "")
                }
            }
            #expect(answers == [2, 3] && changes == ["first", "second"])
            #expect(try next.defaults("log", "a.b").output.split(separator: "\n").count == 2)
        }
    }

    @Test("A client that writes 10,000 requests before it reads an answer gets all answers")
    func unread() throws {
        try AgentProcess.withAgent { agent in
            let bridge = try Self.start(agent.place)
            for number in 1...10_000 { try bridge.send(#"{"request":\#(number),"type":"read","domain":"a.b"}"#) }
            #expect(try bridge.object()["type"] as? String == "welcome")
            for number in 1...10_000 { #expect(try bridge.object()["request"] as? Int == number) }
        }
    }

    @Test("An input that can't be read is an error, and not the end of the input")
    func unreadableInput() throws {
        try AgentProcess.withAgent { agent in
            let outcome = try Programs.run(
                "sh", ["-c", #"exec "$0" bridge < /"#, Programs.defaults], environment: agent.place.environment)
            #expect(outcome.status != 0 && outcome.errors.contains("Is a directory"), "\(outcome)")
        }
    }

    @Test("Beside an agent that doesn't read, the bridge takes no more input, and stays small")
    func agentThatDoesNotRead() throws {
        let (count, length) = (400, 1 << 18)
        try AgentProcess.withAgent { agent in
            let bridge = try Self.start(agent.place)
            _ = try bridge.object()
            agent.signal(SIGSTOP)
            let padding = String(repeating: "x", count: length)
            let sent = Mutex(0)
            // This thread only reads, and the other one only writes.
            nonisolated(unsafe) let input = bridge
            let writer = Thread {
                for number in 1...count {
                    try? input.send(#"{"request":\#(number),"type":"status","padding":"\#(padding)"}"#)
                    sent.withLock { $0 = number }
                }
            }
            writer.start()
            // It is quiet once it has stopped to read.
            var (last, repetitions) = (0, 0)
            #expect(
                eventually {
                    let now = sent.withLock(\.self)
                    (last, repetitions) = (now, now == last ? repetitions + 1 : 0)
                    return now > 0 && repetitions > 500
                })
            #expect(last < count / 2)
            agent.signal(SIGCONT)
            for number in 1...count { #expect(try bridge.object()["request"] as? Int == number) }
            #expect(try bridge.kilobytes("VmHWM") < count * length / 1_024 / 2)
        }
    }

    @Test("`socket` prints where the agent listens, whether or not it runs, and starts nothing")
    func socket() throws {
        try withTemporaryDirectory { root in
            let place = try AgentProcess.Place(in: root)
            func path() throws -> String {
                try Programs.run(Programs.defaults, ["socket"], environment: place.environment).output
            }
            let before = try path()
            #expect(before.hasPrefix("/") && !RawFile.exists(String(before.dropLast())))
            let agent = try AgentProcess(place)
            defer { agent.kill() }
            #expect(try path() == before && RawFile.exists(String(before.dropLast())))
        }
    }

    // MARK: The requests that outlive a connection

    @Test("After a lost connection, streams go on at their cursors with the names that were added, and edits say when")
    func resume() throws {
        var requests = BridgedRequests(session: 7)
        let time = Timestamp(nanoseconds: 5)
        func add(_ request: DomainValues) throws -> [DomainValues] { try requests.add(request, at: time) }
        func handle(_ message: DomainValues) throws -> [DomainValues] { try requests.handle(message) }
        let log = Epoch(value: 1)
        #expect(requests.resume(in: log).messages.isEmpty)
        _ = try add(["request": 1, "type": "subscribe", "from": "now", "mode": "latest", "domains": ["a"]])
        _ = try handle(["request": 1, "type": "subscribed", "cursor": "e:1"])
        _ = try add(["request": 2, "type": "widen", "subscription": 1, "domains": ["b"]])
        _ = try handle(["request": 2, "type": "widened", "cursor": "e:1"])
        _ = try handle(["request": 1, "type": "bookmark", "cursor": "e:2"])
        _ = try add(["request": 3, "type": "widen", "subscription": 1, "domains": ["c"]])
        _ = try handle(["request": 3, "type": "widened", "cursor": "e:2"])
        let sent = try add(["request": 4, "type": "edit", "domain": "a", "set": ["k": 1], "remove": ["l"]])
        let reading = try #require(sent.first)
        #expect(reading["type"] == "read" && reading["keys"] == ["k", "l"] && sent.count == 2)
        #expect(sent.last?["session"] == 7 && sent.last?["edit"] == 1 && sent.last?["time"] == nil)
        let answer: DomainValues = ["request": try #require(reading["request"]), "type": "values", "values": ["k": 0]]
        #expect(try handle(answer).isEmpty)
        _ = try add(["request": 5, "type": "status"])

        let (again, answers) = requests.resume(in: log)
        #expect(answers.isEmpty)
        #expect(again.map { $0["type"] } == ["subscribe", "widen", "edit", "status"])
        #expect(again[0]["from"] == "e:2" && again[0]["domains"] == ["a", "b"] && again[1]["domains"] == ["c"])
        #expect(again[2]["replacing"] == ["k": 0] && again[2]["time"] == 5 && again[2]["edit"] == 1)
        // The client has these answers already.
        #expect(try handle(["request": 1, "type": "subscribed", "cursor": "e:2"]).isEmpty)
        #expect(try handle(["request": try #require(again[1]["request"]), "type": "widened", "cursor": "e:2"]).isEmpty)
        #expect(try handle(["request": 4, "type": "edited", "cursor": "e:3"]).count == 1)
        #expect(!requests.isAnswered)
        #expect(try handle(["request": 5, "type": "status", "status": [:]]).count == 1 && requests.isAnswered)
    }

    @Test("A stream goes on with the domains that it had: all, none, or names and patterns with wildcards")
    func domainsOfStream() throws {
        func domains(_ first: [PropertyListValue]?, narrowed: [PropertyListValue], widened: [PropertyListValue]) throws
            -> PropertyListValue?
        {
            var requests = BridgedRequests()
            var request: DomainValues = ["request": 1, "type": "subscribe", "from": "now", "mode": "latest"]
            request["domains"] = first.map { .array($0) }
            _ = try requests.add(request, at: .now())
            _ = try requests.handle(["request": 1, "type": "subscribed", "cursor": "e:1"])
            let changes: [(String, String, [PropertyListValue])] = [
                ("narrow", "narrowed", narrowed), ("widen", "widened", widened),
            ]
            for (number, (type, answer, names)) in changes.enumerated() {
                let number = PropertyListValue.integer(Int64(number + 2))
                _ = try requests.add(
                    ["request": number, "type": .string(type), "subscription": 1, "domains": .array(names)], at: .now())
                _ = try requests.handle(["request": number, "type": .string(answer), "cursor": "e:1"])
            }
            _ = try requests.handle(["request": 1, "type": "bookmark", "cursor": "e:2"])
            return requests.resume(in: Epoch(value: 1)).messages.first?["domains"]
        }
        #expect(try domains(nil, narrowed: [], widened: ["a.b"]) == [])
        #expect(try domains(["a.b"], narrowed: ["a.b"], widened: []) == ["/"])
        #expect(try domains(["a*", "b\\*c"], narrowed: ["b*c"], widened: ["p*q"]) == ["a*", "p\\*q"])
    }

    @Test("If the log was lost, it is unknown whether an edit was made, unless it has the values that it replaces")
    func lostLog() throws {
        var requests = BridgedRequests()
        _ = requests.resume(in: Epoch(value: 1))
        let edit: DomainValues = ["type": "edit", "domain": "a", "set": ["k": 1]]
        _ = try requests.add(edit.merging(["request": 1]) { $1 }, at: .now())
        let second = try requests.add(edit.merging(["request": 2]) { $1 }, at: .now())
        let reading = try #require(second.first?["request"])
        _ = try requests.handle(["request": reading, "type": "values", "values": [:]])
        _ = try requests.add(edit.merging(["request": 3, "expected": [:]]) { $1 }, at: .now())
        var (messages, answers) = requests.resume(in: Epoch(value: 1))
        #expect(messages.map { $0["request"] } == [1, 2, 3] && answers.isEmpty)
        (messages, answers) = requests.resume(in: Epoch(value: 2))
        #expect(messages.map { $0["request"] } == [2])
        #expect(answers.map { $0["request"] } == [1, 3] && answers.allSatisfy { $0["code"] == "agentUnavailable" })
        // The values that it replaces may make it too large.
        #expect(requests.answer(toUnknown: messages[0])?["code"] == "agentUnavailable" && requests.isAnswered)
    }

    @Test("A request that can't be sent is neither waited for nor sent again, and leaves its number free")
    func withdrawn() throws {
        var requests = BridgedRequests()
        let request: DomainValues = ["request": 1, "type": "subscribe", "from": "now", "mode": "latest"]
        for _ in 0..<2 {
            _ = try requests.add(request, at: .now())
            requests.withdraw(request)
            #expect(requests.isAnswered && requests.resume(in: Epoch(value: 1)).messages.isEmpty)
        }
    }

    @Test("If the agent closes the connection because of a request, every unanswered one is answered with the reason")
    func closed() throws {
        var requests = BridgedRequests()
        for number: Int64 in 1...2 {
            _ = try requests.add(["request": .integer(number), "type": "status"], at: .now())
        }
        let failure: DomainValues = ["request": 0, "type": "failure", "code": "protocolViolation", "message": "No."]
        _ = try requests.add(["request": 3, "type": "edit", "domain": "a", "set": [:], "expected": [:]], at: .now())
        let answers = try requests.handle(failure)
        #expect(answers.map { $0["request"] } == [1, 2, 3] && answers[1]["code"] == "protocolViolation")
        #expect(answers[2]["code"] == "agentUnavailable", "The edit may have waited for the disk, and been made.")
        #expect(answers[2]["message"] == "No. The edit may have been made. Read the values before you try again.")
        #expect(requests.isAnswered && requests.resume(in: Epoch(value: 1)).messages.isEmpty)
        #expect(try requests.handle(failure).map { $0["request"] } == [0])
    }
}
