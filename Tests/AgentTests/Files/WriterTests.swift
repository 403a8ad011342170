import DefaultsClient
import DefaultsCore
import Foundation
import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// Programs that write a file around the time at which a key is set through `defaultsd`: who has loaded which version
/// decides what they mean.
///
/// `FAULTS=all swift test --filter WriterTests` tries every writer in every way.
@Suite("Writers of a file around a set")
struct WriterTests {
    /// A writer of the table, and the circumstances of its write.
    struct Row: CustomTestStringConvertible {
        let writer: FileWriter
        var life = Life.running
        var fileSystem = FileSystem.ordinary

        var testDescription: String { "\(writer.name), \(life), \(fileSystem)" }

        /// The evidence that there will be when an agent merges the file.
        var evidence: FileWriter.Evidence {
            if life == .absent { return .whole }
            guard fileSystem.recordsReads else { return .unknown }
            // Once the newest version has been replaced, no agent can tell whether it had been read. If it has been
            // written in place instead, an agent can tell that it hadn't.
            return life != .killed || writer.isInPlace && writer.basis != .newest ? .recorded : .unknown
        }

        /// The time, in seconds, for which a writer is assumed to hold its values if nothing is known of reads.
        private var holdingTime: Double { writer.isInPlace ? 2 : 5 }

        /// Returns the possible values at the end, if the set and the write together took a time.
        func outcomes(after seconds: Double) -> [DomainValues] {
            // On a slow machine, the write may be too late to be taken for one of old values.
            let evidences = evidence == .unknown && seconds > holdingTime ? [.unknown, .whole] : [evidence]
            return evidences.map { WriterTests.values(writer.outcome($0)) }
        }
    }

    /// The fate of the agent between the set and the write.
    enum Life: CaseIterable {
        case running, restarted, killed
        /// There is none until the end, and so no log that remembers earlier versions.
        case absent
    }

    static func values(_ outcome: (size: Int, name: String)) -> DomainValues {
        ["size": .integer(Int64(outcome.size)), "name": .string(outcome.name)]
    }

    private static let hasAll = ProcessInfo.processInfo.environment["FAULTS"] == "all"

    /// Returns every writer on a file system: with every life on the usual one or if all are wanted, or else with one.
    private static func rows(on fileSystem: FileSystem) -> [Row] {
        FileWriter.all.filter { Programs.isInstalled($0.tool) }.enumerated().flatMap { number, writer in
            Life.allCases.enumerated()
                .filter { hasAll || fileSystem == .ordinary || number % Life.allCases.count == $0.offset }
                .map { Row(writer: writer, life: $0.element, fileSystem: fileSystem) }
        }
    }

    /// Returns the values at the end, and the time from before the set until after the write, in seconds.
    private func end(_ row: Row, readsBetween: Bool = false) throws -> (values: DomainValues, seconds: Double) {
        try row.fileSystem.withPlace { place in
            try SavePatternTests.file.write(toFile: place.path("a.b"), atomically: false, encoding: .utf8)
            var agent = row.life == .absent ? nil : try AgentProcess(place)
            defer { agent?.kill() }
            let environment = place.environment.merging(agent == nil ? ["DEFAULTSD_SOCKET": ""] : [:]) { $1 }
            func run(_ script: String) throws {
                let outcome = try Programs.shell(script, in: place.preferences, environment: environment)
                #expect(outcome.status == 0, "\(outcome.errors)")
            }
            try run(row.writer.before)
            let start = ContinuousClock().now
            try run("'\(Programs.defaults)' write a.b size -int 16")
            try agent?.synchronize()
            switch row.life {
            case .running, .absent: break
            case .restarted:
                agent?.terminate()
                agent = try AgentProcess(place)
            case .killed:
                agent?.kill()
                agent = nil
            }
            if readsBetween { try run("cat a.b.plist") }
            try run(row.writer.after)
            let seconds = (ContinuousClock().now - start) / .seconds(1)
            let last = try agent ?? AgentProcess(place)
            agent = last
            try last.synchronize()
            let values = try last.connect().snapshot(of: Domain(try DomainName("a.b"))).values
            #expect(try PropertyListValue(parsing: RawFile.read(place.path("a.b"))) == .dictionary(values))
            return (values, seconds)
        }
    }

    private func check(_ row: Row) throws {
        let (values, seconds) = try end(row)
        #expect(row.outcomes(after: seconds).contains(values), "\(values) after \(seconds) s")
    }

    @Test(
        "A writer means what it changed in the version that it had loaded, and a restored version is meant as a whole",
        arguments: rows(on: .ordinary) + rows(on: .tmpfs))
    func writes(_ row: Row) throws { try check(row) }

    @Test(
        "On an overlay, writers mean the same",
        .enabled(if: FileSystem.overlay.isAvailable, "No overlay can be mounted."),
        arguments: rows(on: .overlay))
    func writesToOverlay(_ row: Row) throws { try check(row) }

    @Test(
        "If reads aren't recorded, a writer that follows the set soon is taken for one that had loaded old values",
        .enabled(if: FileSystem.unrecorded.isAvailable, "No file system can be mounted."),
        arguments: rows(on: .unrecorded))
    func writesUnrecorded(_ row: Row) throws { try check(row) }

    @Test(
        "If the newest version has been read, a program with old values wins",
        .enabled(if: ForeignProcess.hasPython), arguments: [FileWriter.stale[1]])
    func readByAnother(_ writer: FileWriter) throws {
        #expect(try end(Row(writer: writer), readsBetween: true).values == Self.values(writer.outcome(.whole)))
    }

    @Test("An export that is edited and copied back is meant as a whole", .enabled(if: ForeignProcess.hasPython))
    func exported() throws {
        try AgentProcess.withAgent(prepare: {
            try SavePatternTests.file.write(toFile: $0.path("a.b"), atomically: false, encoding: .utf8)
        }) { agent in
            #expect(try agent.defaults("write", "a.b", "size", "-int", "16").status == 0)
            try agent.synchronize()
            #expect(try agent.defaults("export", "a.b", agent.place.root + "/exported").status == 0)
            let write = FileWriter.python("../exported", "d['size'] = 12; d['name'] = 'new'", isInPlace: false)
            #expect(try agent.shell(write).status == 0)
            try agent.synchronize()
            #expect(try agent.defaults("read", "a.b", "size").output == "12\n")
        }
    }

    @Test("An edit with sed right after a write is kept, time and again, as in the README")
    func timeAndAgain() throws {
        try AgentProcess.withAgent(prepare: {
            try SavePatternTests.file.write(toFile: $0.path("a.b"), atomically: false, encoding: .utf8)
        }) { agent in
            for _ in 1...5 {
                #expect(try agent.defaults("write", "a.b", "size", "-int", "12").status == 0)
                #expect(try agent.shell("sed -i s/12/14/ a.b.plist").status == 0)
                try agent.synchronize()
                #expect(try agent.defaults("read", "a.b", "size").output == "14\n")
            }
        }
    }
}
