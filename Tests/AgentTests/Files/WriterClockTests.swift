import DefaultsClient
import DefaultsCore
import Foundation
import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// Writers of a file around a set, while the clock of one of the parties is behind or ahead.
///
/// `FAULTS=all swift test --filter WriterClockTests` tries every writer of the table in every way.
@Suite("Writers of a file and clocks that are wrong")
struct WriterClockTests {
    /// The party whose clock is wrong.
    enum Party: CaseIterable {
        case app, command, agent
        /// The program that writes the file, which keeps the time of a machine that it got the file from, as `rsync -t`
        /// does. The file's other times are always the kernel's.
        case writer
    }

    private static let offsets: [Int64] = [30, 3_600, 86_400].flatMap { [-$0, $0] }
    private static let hasAll = ProcessInfo.processInfo.environment["FAULTS"] == "all"
    private static let lives: [WriterTests.Life] = [.running, .restarted, .killed]

    /// Returns all writers if they are wanted, or else one: of a different kind for each life and each size of an
    /// offset.
    private static func writers(_ number: Int, _ life: WriterTests.Life) -> [FileWriter] {
        if hasAll { return FileWriter.all }
        let kinds = [FileWriter.current[1], FileWriter.restoring[0], FileWriter.stale[1]]
        let position = lives.firstIndex(of: life) ?? 0
        return [kinds[(number + position) % kinds.count]]
    }

    /// A set, a write, another set and another write, and the clocks of those who make them.
    private struct Scene {
        let row: WriterTests.Row
        let party: Party
        let offset: Int64
        let clock: SteppedClock

        var place: AgentProcess.Place
        var agent: AgentProcess?

        init(
            _ row: WriterTests.Row, _ party: Party, _ offset: Int64, _ clock: SteppedClock, _ place: AgentProcess.Place
        ) {
            (self.row, self.party, self.offset, self.clock, self.place) = (row, party, offset, clock, place)
        }

        private func launcher(of party: Party) -> [String] { party == self.party ? clock.launcher : [] }

        private mutating func startAgent() throws {
            agent = try AgentProcess(place, launcher: launcher(of: .agent))
        }

        /// Sets the key as an app or the command.
        private func set(_ size: Int) throws {
            let arguments =
                party == .app
                ? launcher(of: .app) + [Programs.leaver, "size", "a.b"]
                : launcher(of: .command) + [Programs.defaults, "write", "a.b", "size", "-int", "\(size)"]
            let environment = place.environment.merging(["COUNTS": "\(size)"]) { $1 }
            let outcome = try Programs.run(arguments[0], Array(arguments[1...]), environment: environment)
            #expect(outcome.status == 0 && outcome.errors == "", "\(outcome)")
            try agent?.synchronize()
        }

        /// Runs a writer's script, after which the file has the time of the writer's clock.
        private func write(_ script: String) throws {
            // The agent sees the file only when it has that time.
            agent?.signal(SIGSTOP)
            let time = Timestamp.now().nanoseconds / 1_000_000_000 + offset
            let touch = party == .writer ? "touch -m -d @\(time) a.b.plist" : ""
            let outcome = try Programs.shell(
                "\(script)\n\(touch)", in: place.preferences, environment: place.environment)
            #expect(outcome.status == 0, "\(outcome.errors)")
            agent?.signal(SIGCONT)
        }

        private func values() throws -> DomainValues {
            try agent?.synchronize()
            let values = try agent?.connect().snapshot(of: Domain(try DomainName("a.b"))).values ?? [:]
            #expect(try PropertyListValue(parsing: RawFile.read(place.path("a.b"))) == .dictionary(values))
            return values
        }

        mutating func play() throws {
            try clock.set(offset)
            try SavePatternTests.file.write(toFile: place.path("a.b"), atomically: false, encoding: .utf8)
            try startAgent()
            defer { agent?.kill() }
            let before = try Programs.shell(row.writer.before, in: place.preferences, environment: place.environment)
            #expect(before.status == 0, "\(before.errors)")
            let start = ContinuousClock().now
            try set(16)
            switch row.life {
            case .running, .absent: break
            case .restarted:
                agent?.terminate()
                try startAgent()
            case .killed:
                agent?.kill()
                agent = nil
            }
            try write(row.writer.after)
            let seconds = (ContinuousClock().now - start) / .seconds(1)
            if row.life == .killed { try startAgent() }
            // All of a file is meant if it is more than ten seconds older than the newest version. After a crash, the
            // time of that is the agent's. If nothing is known of reads, it may also be too much later.
            let isOlder = party == .writer && offset < 0 || party == .agent && row.life == .killed && offset > 0
            let isWhole = isOlder || party == .agent && row.evidence == .unknown
            let outcomes =
                isWhole ? [WriterTests.values(row.writer.outcome(.whole))] : row.outcomes(after: seconds)
            let written = try values()
            let context: Comment = "\(row.testDescription), clock of \(party) \(offset) s ahead"
            #expect(outcomes.contains(written), context)
            // Regardless of the clocks, the later set and the later write win.
            try set(20)
            #expect(try values()["size"] == 20, context)
            try write("sed -i s/20/21/ a.b.plist")
            #expect(try values()["size"] == 21, context)
            try set(20)
            #expect(try values()["size"] == 20, context)
        }
    }

    @Test("The later writer wins, whichever clock is wrong", arguments: Party.allCases, lives)
    func wrongClock(_ party: Party, _ life: WriterTests.Life) throws {
        try withTemporaryDirectory { directory in
            guard let clock = try SteppedClock(in: directory) else { return }
            for (number, offset) in Self.offsets.enumerated() {
                for writer in Self.writers(number / 2, life) where Programs.isInstalled(writer.tool) {
                    // A copy is known by its time alone.
                    if writer.basis == .copy, party == .agent || party == .writer { continue }
                    try AgentProcess.withPlace { place in
                        var scene = Scene(WriterTests.Row(writer: writer, life: life), party, offset, clock, place)
                        try scene.play()
                    }
                }
            }
        }
    }
}
