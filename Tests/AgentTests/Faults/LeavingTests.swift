import DefaultsCore
import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// The signal that a trap raises.
#if arch(x86_64)
private let trapSignal = SIGILL
#else
private let trapSignal = SIGTRAP
#endif

/// Edits of a program that exits right after making them.
///
/// `Tests/Leaver` plays the scenes.
@Suite("Programs that exit right after an edit")
struct LeavingTests {
    private static let suite = "org.example.app"

    private func play(_ scene: String, hasAgent: Bool, endsWith end: Int32 = 0) throws -> DomainValues {
        try AgentProcess.withPlace { place in
            let agent = hasAgent ? try AgentProcess(place) : nil
            defer { agent?.kill() }
            let leaver = try RunningProgram(Programs.leaver, [scene, Self.suite], environment: place.environment)
            let status = leaver.status(within: 300)
            #expect(status == end)
            if end == 0 {
                // On a busy machine, the agent may be slow, which isn't a loss.
                let complaints = leaver.complaints().split(separator: "\n").filter { !$0.contains("not responded") }
                #expect(complaints == [])
            }
            try agent?.synchronize()
            guard case .dictionary(let values) = try PropertyListValue(parsing: RawFile.read(place.path(Self.suite)))
            else { return [:] }
            return values
        }
    }

    @Test("A program that sets a key very many times has its last value saved", arguments: [true, false])
    func burst(hasAgent: Bool) throws {
        #expect(try play("burst", hasAgent: hasAgent) == ["key": 100_000])
        #expect(try play("turns", hasAgent: hasAgent) == ["even": 50_000, "odd": 50_000])
    }

    @Test("A program that sets very many keys has all of them saved", arguments: [true, false])
    func manyKeys(hasAgent: Bool) throws {
        let values = try play("keys", hasAgent: hasAgent)
        #expect(values.count == 20_000 && values["key20000"] == 20_000)
    }

    @Test("A value set by an exit handler is saved, whenever the handler was registered", arguments: [true, false])
    func handlers(hasAgent: Bool) throws {
        #expect(try play("handlers", hasAgent: hasAgent) == ["early": 1, "key": 1, "late": 1])
    }

    @Test("A program whose signal handler calls exit within an edit ends, and says so", arguments: [true, false])
    func exitInHandler(hasAgent: Bool) throws {
        try AgentProcess.withPlace { place in
            let agent = hasAgent ? try AgentProcess(place) : nil
            defer { agent?.kill() }
            var complaints: [Substring] = []
            for _ in 1...100 where complaints.isEmpty {
                let leaver = try RunningProgram(
                    Programs.leaver, ["exitInHandler", Self.suite], environment: place.environment)
                #expect(leaver.line() == "ready")
                leaver.signal(SIGUSR1)
                #expect(leaver.status(within: 60) == 0)
                complaints = leaver.complaints().split(separator: "\n").filter { !$0.contains("not responded") }
            }
            #expect(complaints.count == 1 && complaints.allSatisfy { $0.contains("A signal handler called exit") })
        }
    }

    @Test("Values set by threads are saved even if all threads call exit at the same time", arguments: [true, false])
    func threads(hasAgent: Bool) throws {
        #expect(try play("threads", hasAgent: hasAgent).count == 30)
    }

    @Test(
        "Values set just before a program ends abruptly reach the agent",
        arguments: [
            ("leaveAtOnce", 0), ("trap", 128 + trapSignal), ("terminate", 128 + SIGTERM), ("interrupt", 128 + SIGINT),
        ])
    func suddenEnds(scene: String, end: Int32) throws {
        for _ in 1...10 { #expect(try play(scene, hasAgent: true, endsWith: end) == ["first": true, "second": true]) }
    }
}
