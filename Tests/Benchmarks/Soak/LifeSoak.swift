import DefaultsClient
import DefaultsCore
import DefaultsKit
import Foundation
import Glibc
import PropertyList
import TestSupport

/// A soak test of an agent's life: years of sessions over the same directories, in fast motion.
///
/// In each session, apps, foreign writers, an editor, undo and redo change a few values. It ends by SIGTERM, SIGKILL,
/// an upgrade, or on a full disk, and the last edit before that is acknowledged but not yet saved. Each session must
/// begin with all values and with the changes that a follower missed. The files, their number, the time until the agent
/// answers, its memory, descriptors and threads must stay within bounds that don't depend on the number of sessions. A
/// manifest changes, too, and is torn in some sessions; values that it calls sensitive must never get into the history.
struct LifeSoak {
    /// The settings, so small that the log is replaced and the archive thinned every few sessions.
    static let logBytes = 1 << 20
    static let historyBytes = 1 << 20
    /// The domains that never change.
    private static let idle = 300
    /// The size of the large value that changes in each session.
    private static let large = 60 << 10
    /// The disk holds what the bounds permit, twice.
    static let diskBytes = 24 << 20

    private enum End: Int, CaseIterable {
        case terminated
        case killed
        case upgraded
        case onFullDisk
    }

    let place: SoakEnvironment
    let sessions: Int

    func run() throws -> SoakResult {
        var result = SoakResult(kind: .life)
        var values = try prepare()
        let idleFiles = Set(place.files.filter { $0.path.contains(".idle") })
        var figures = LifeFigures(sessions: sessions, domains: Self.idle + values.count + 1)
        let client = try makeClient()
        defer { client.close() }
        try place.startAgent()
        defer { place.stopAgent() }
        var cursor: Cursor?
        while result.rounds < sessions, result.isClean {
            result.rounds += 1
            figures.add(try place.measureAgent())
            result.ownLost += try lost(values, &result)
            if let cursor { try resume(after: cursor, &result) }
            let end = End.allCases[result.rounds % End.allCases.count]
            cursor = try spend(&values, client, &result)
            let growth = try finish(end, &values, client, &result)
            // After a full disk, the next agent adds to the log what the last one couldn't.
            if cursor != nil { figures.add(logGrowth: growth) }
            if end == .onFullDisk { cursor = nil }
            for path in try place.historyFiles(containing: Self.secret) {
                result.findings.append("Session \(result.rounds): \(path) contains a secret.")
            }
            let files = place.files
            let changed = idleFiles.subtracting(files)
            if let first = changed.first { result.findings.append("\(changed.count) files such as \(first) changed.") }
            figures.add(files)
            result.findings += figures.breaches.map { "Session \(result.rounds) (\(end)): \($0)" }
        }
        result.ownLost += try lost(values, &result)
        try checkHistory(&result)
        result.figures = figures.lines
        if !place.hasDisk { result.figures.append("No session had a full disk: a small file system can't be mounted.") }
        result.findings += figures.growth + (try place.audit())
        return result
    }

    // MARK: A session

    /// Writes the settings and all files, as they are before the first session.
    private func prepare() throws -> [String: DomainValues] {
        func write(_ name: String, _ values: DomainValues) throws {
            try ForeignFile(path: place.path(of: name)).replace(with: values)
        }
        try write(
            AgentSettings.domainName,
            ["LogBytes": .integer(Int64(Self.logBytes)), "HistoryBytes": .integer(Int64(Self.historyBytes))])
        for number in 0..<Self.idle {
            try write("\(SoakEnvironment.domain).idle\(number)", ["number": .integer(Int64(number)), "text": "idle"])
        }
        let first: [String: DomainValues] = [
            Self.app: ["count": 0], Self.files: ["rename": 0], Self.past: ["key": 0], Self.largeDomain: ["count": 0],
        ]
        for (name, values) in first { try write(name, values) }
        try writeManifest(0)
        return first
    }

    /// Writes the manifest of a session: of most, one with a secret and a range, and of some, half of it.
    private func writeManifest(_ number: Int) throws {
        let keys =
            "{ pfm_name = secret; pfm_type = string; pfm_sensitive = <*BY>; }, "
            + "{ pfm_name = lasting; pfm_type = integer; pfm_range_max = <*I\(number % 3)>; }"
        let text = "{ pfm_title = \"Session \(number)\"; pfm_subkeys = (\(keys)); }"
        let path = "\(place.manifests)/\(Self.app).plist"
        try Data(number % 5 == 3 ? text.utf8.prefix(90) : text.utf8[...]).write(to: URL(filePath: path))
    }

    private static let app = "\(SoakEnvironment.domain).app"
    private static let files = "\(SoakEnvironment.domain).files"
    private static let past = "\(SoakEnvironment.domain).past"
    /// The beginning of each value of the sensitive key.
    private static let secret = "secret value "
    private static let largeDomain = "\(SoakEnvironment.domain).large"

    private func makeClient() throws -> Client {
        Client(.success(try Location(environment: Environment(place.environment))))
    }

    /// Changes values in all ways.
    ///
    /// - Returns: A cursor before the last changes; `nil` if the agent says that followers may see a gap, because it
    ///   hasn't yet written its log again since the disk was full.
    private func spend(
        _ values: inout [String: DomainValues], _ client: Client, _ result: inout SoakResult
    ) throws -> Cursor? {
        let number = Int64(result.rounds)
        try writeManifest(result.rounds)
        // A long-lived app, and one that lives only now.
        let other = try makeClient()
        defer { other.close() }
        for (client, key) in [(client, "lasting"), (other, "brief")] {
            try set(Self.app, key, to: .integer(number), client, &values)
            result.own += 1
        }
        try set(Self.app, "secret", to: .string("\(Self.secret)\(number)"), client, &values)
        result.own += 1
        let text = String(repeating: "\(number) ", count: Self.large / "\(number) ".utf8.count)
        try set(Self.largeDomain, "text", to: .string(text), client, &values)
        result.own += 1
        let editor = try place.connect()
        try writeForeign(number, editor, &values, &result)
        try undo(number, editor)
        let cursor = try editor.barrier().cursor
        values[Self.past]?["key"] = .integer(number)
        return try editor.status()["errors"] == [] ? cursor : nil
    }

    /// Sets a key in an app, and waits until it is saved.
    private func set(
        _ name: String, _ key: String, to value: PropertyListValue, _ client: Client,
        _ values: inout [String: DomainValues]
    ) throws {
        guard let defaults = UserDefaults(suiteName: name, in: client) else {
            throw BenchFailure("\(name) is not a valid name.")
        }
        switch value {
        case .integer(let number): defaults.set(Int(number), forKey: key)
        case .string(let text): defaults.set(text, forKey: key)
        default: throw BenchFailure("No app sets such a value.")
        }
        guard eventually(within: 30, { defaults.synchronize() }) else { throw BenchFailure("\(key) isn't saved.") }
        values[name]?[key] = value
    }

    /// Rewrites a file as other programs do: by renaming a new one, in place, and as an editor that keeps a backup.
    private func writeForeign(
        _ number: Int64, _ editor: AgentConnection, _ values: inout [String: DomainValues], _ result: inout SoakResult
    ) throws {
        let domain = Domain(try DomainName(Self.files))
        let path = place.path(of: Self.files)
        let file = ForeignFile(path: path)
        for key in ["rename", "truncate", "edit"] {
            guard var contents = file.read() else { throw BenchFailure("\(path) can't be read.") }
            contents[key] = .integer(number)
            switch key {
            case "rename": try file.replace(with: contents)
            case "truncate": try file.overwrite(with: contents)
            default:
                guard rename(path, path + "~") == 0 else { throw BenchFailure("\(path) can't be renamed.") }
                try file.overwrite(with: contents)
                unlink(path + "~")
            }
            result.foreign += 1
            values[Self.files]?[key] = .integer(number)
            let hasCome = try eventually(within: 10) {
                _ = try editor.barrier([domain])
                return try editor.snapshot(of: domain).values == values[Self.files]
            }
            if !hasCome {
                result.foreignLost += 1
                result.findings.append("Session \(number): the agent lacks \(key).")
            }
        }
    }

    /// Sets a key, and undoes and redoes that.
    private func undo(_ number: Int64, _ editor: AgentConnection) throws {
        let domain = Domain(try DomainName(Self.past))
        let before = try editor.snapshot(of: domain).values["key"]
        try editor.edit(domain, with: ["key": .integer(number)], replacesAll: false)
        let filter = SubscriptionFilter(domains: [GlobPattern.exactly(Self.past)], keys: [GlobPattern.exactly("key")])
        for (subject, value) in [(UndoSearch.Subject.changes, before), (.undos, .integer(number))] {
            var plan = try UndoPlan(editor, of: filter, finding: subject)
            guard let last = try plan.next() else { throw BenchFailure("The history lacks the last change.") }
            try plan.take(last)
            _ = try plan.commit(domain)
            guard try editor.snapshot(of: domain).values["key"] == value else {
                throw BenchFailure("Session \(number): undo and redo don't lead to \(value.map { "\($0)" } ?? "nil").")
            }
        }
    }

    // MARK: The end of a session

    /// Ends a session after an edit that the agent has acknowledged but not saved, and starts the next agent.
    ///
    /// - Returns: The number of bytes by which the log has grown meanwhile.
    private func finish(
        _ end: End, _ values: inout [String: DomainValues], _ client: Client, _ result: inout SoakResult
    ) throws -> Int {
        let number = Int64(result.rounds)
        guard end != .onFullDisk || !place.hasDisk else {
            return try finishOnFullDisk(number, &values, client, &result)
        }
        let editor = try place.connect()
        try editor.edit(Domain(try DomainName(Self.past)), with: ["last": .integer(number)], replacesAll: false)
        values[Self.past]?["last"] = .integer(number)
        result.own += 1
        result.ends += 1
        let bytes = place.logBytes
        switch end {
        case .terminated, .onFullDisk: place.terminateAgent()
        case .killed: place.killAgent()
        case .upgraded: try place.upgradeAgent()
        }
        if end != .upgraded { try place.startAgent() }
        return place.logBytes - bytes
    }

    /// Fills the disk, sets a key in an app, and replaces the agent; the edit is saved when there is space again.
    ///
    /// The agent is killed, since it would try to save for ten seconds at its end.
    private func finishOnFullDisk(
        _ number: Int64, _ values: inout [String: DomainValues], _ client: Client, _ result: inout SoakResult
    ) throws -> Int {
        try place.fillDisk()
        guard let defaults = UserDefaults(suiteName: Self.app, in: client) else { throw BenchFailure("No suite.") }
        defaults.set(Int(number), forKey: "full")
        result.own += 1
        result.ends += 1
        let bytes = place.logBytes
        place.killAgent()
        try place.startAgent()
        let growth = place.logBytes - bytes
        if defaults.integer(forKey: "full") != Int(number) {
            result.findings.append("Session \(number): an edit on a full disk isn't in effect.")
        }
        try place.emptyDisk()
        try set(Self.app, "full", to: .integer(number), client, &values)
        return growth
    }

    // MARK: Checks

    /// Counts the values that are missing from the agent or the files.
    private func lost(_ values: [String: DomainValues], _ result: inout SoakResult) throws -> Int {
        let editor = try place.connect()
        if let failure = try editor.barrier().failures.first { result.findings.append("\(failure)") }
        var lost = 0
        for (name, values) in values.sorted(by: { $0.key < $1.key }) {
            let there = try editor.snapshot(of: Domain(try DomainName(name))).values
            let file = ForeignFile(path: place.path(of: name)).read() ?? [:]
            for (key, value) in values where there[key] != value || file[key] != value {
                lost += 1
                result.findings.append("Session \(result.rounds): \(name) \(key) has an unexpected value.")
            }
            if there.count != values.count { result.findings.append("\(name) has \(there.count) keys.") }
        }
        return lost
    }

    /// Checks that a follower that was disconnected in the last session receives what it missed.
    private func resume(after cursor: Cursor, _ result: inout SoakResult) throws {
        let follower = try place.connect()
        _ = try follower.subscribe(.after(cursor), filter: SubscriptionFilter(), mode: .everything)
        switch try follower.nextEvent(within: 10_000) {
        case .record?: result.records += 1
        case let event:
            result.findings.append("Session \(result.rounds): a follower got \(event.map { "\($0)" } ?? "nothing").")
        }
    }

    /// Checks that the history, from the log and the archive, has each change set once.
    private func checkHistory(_ result: inout SoakResult) throws {
        var history = try HistoryReader(try place.connect(), matching: SubscriptionFilter())
        var last = Revision.max
        while let record = try history.next() {
            if record.revision >= last {
                result.findings.append("The history has number \(record.revision) after \(last).")
                return
            }
            last = record.revision
        }
        if let problem = history.problem { result.findings.append("\(problem)") }
    }
}
