import DefaultsCore
import Foundation
import Glibc
import ProgramSupport
import PropertyList
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
            try bridge.send(#"{"request":2,"type":"read","domain":"a.b"}"#)
            let line = try #require(bridge.line())
            #expect(line.contains(#""values":\#(values)"#) && line.contains(#""request":2"#), "\(line)")
            let outcome = try bridge.finish(#"{"request":3,"type":"synchronize"}"#)
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
        func take(_ message: DomainValues) throws -> [DomainValues] { try requests.take(message) }
        _ = try add(["request": 1, "type": "subscribe", "from": "now", "mode": "latest", "domains": ["a"]])
        _ = try take(["request": 1, "type": "subscribed", "cursor": "e:1"])
        _ = try add(["request": 2, "type": "widen", "subscription": 1, "domains": ["b"]])
        _ = try take(["request": 2, "type": "widened", "cursor": "e:1"])
        _ = try take(["request": 1, "type": "bookmark", "cursor": "e:2"])
        _ = try add(["request": 3, "type": "widen", "subscription": 1, "domains": ["c"]])
        _ = try take(["request": 3, "type": "widened", "cursor": "e:2"])
        let sent = try add(["request": 4, "type": "edit", "domain": "a", "set": ["k": 1], "remove": ["l"]])
        let reading = try #require(sent.first)
        #expect(reading["type"] == "read" && reading["keys"] == ["k", "l"] && sent.count == 2)
        #expect(sent.last?["session"] == 7 && sent.last?["edit"] == 1 && sent.last?["time"] == nil)
        let answer: DomainValues = ["request": try #require(reading["request"]), "type": "values", "values": ["k": 0]]
        #expect(try take(answer).isEmpty)
        _ = try add(["request": 5, "type": "status"])

        let again = requests.resume()
        #expect(again.map { $0["type"] } == ["subscribe", "widen", "edit", "status"])
        #expect(again[0]["from"] == "e:2" && again[0]["domains"] == ["a", "b"] && again[1]["domains"] == ["c"])
        #expect(again[2]["replacing"] == ["k": 0] && again[2]["time"] == 5 && again[2]["edit"] == 1)
        // The client has these answers already.
        #expect(try take(["request": 1, "type": "subscribed", "cursor": "e:2"]).isEmpty)
        #expect(try take(["request": try #require(again[1]["request"]), "type": "widened", "cursor": "e:2"]).isEmpty)
        #expect(try take(["request": 4, "type": "edited", "cursor": "e:3"]).count == 1)
        #expect(!requests.isAnswered)
        #expect(try take(["request": 5, "type": "status", "status": [:]]).count == 1 && requests.isAnswered)
    }

    @Test("A request that can't be sent is neither waited for nor sent again, and leaves its number free")
    func withdrawn() throws {
        var requests = BridgedRequests()
        let request: DomainValues = ["request": 1, "type": "subscribe", "from": "now", "mode": "latest"]
        for _ in 0..<2 {
            _ = try requests.add(request, at: .now())
            requests.withdraw(request)
            #expect(requests.isAnswered && requests.resume().isEmpty)
        }
    }

    @Test("If the agent closes the connection because of a request, every unanswered one is answered with the reason")
    func closed() throws {
        var requests = BridgedRequests()
        for number: Int64 in 1...2 {
            _ = try requests.add(["request": .integer(number), "type": "status"], at: .now())
        }
        let failure: DomainValues = ["request": 0, "type": "failure", "code": "protocolViolation", "message": "No."]
        #expect(try requests.take(failure).map { $0["request"] } == [1, 2])
        #expect(requests.isAnswered && requests.resume().isEmpty)
        #expect(try requests.take(failure).map { $0["request"] } == [0])
    }
}
