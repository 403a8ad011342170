import DefaultsClient
import DefaultsCore
import Foundation
import Glibc
import Linux
import ProgramSupport
import PropertyList
import Synchronization
import TestSupport

/// One run of a scenario, with the subject, the other programs, and what was written by whom.
///
/// The scenario's work runs on a thread of its own, since the subject may be stopped meanwhile. Unchecked because
/// properties without a lock are set before the work begins or after it has ended. The exceptions are `agent`, which
/// only the work sets meanwhile, and `mayEnd`, which only an act sets.
final class Trial: @unchecked Sendable {
    static let domainName = "org.example.app"
    let scenario: Scenario
    let subject: Subject
    let place: AgentProcess.Place
    let intervention: Intervention
    let domain: Domain
    private let root: String
    private let state = Mutex(State())

    private struct State {
        var ledger = Ledger()
        var findings: [String] = []
        /// The texts that must be found in the file at the end.
        var fragments: [String] = []
        /// The permissions that the file must have at the end; `nil` if they aren't known.
        var mode: mode_t?
        /// Whether a foreign writer may have left the file empty, or a power failure a file that was written in place.
        var mayBeDamaged = false
    }

    /// The agent under test, while it runs.
    private(set) var agent: AgentProcess?
    /// The agents that acts have started.
    private var otherAgents: [RunningProgram] = []
    /// The work of other programs that acts have begun.
    private var asides: [Aside] = []
    private var follower: TrialFollower?
    /// Whether a failure may have kept the log from being written, so that followers get a gap.
    var mayHaveGaps = false
    /// Whether the log may have discarded records while the follower was away.
    var mayMissRecords = false
    /// Whether the subject may end by itself: it was killed, or its calls fail.
    var mayEnd = false
    /// Whether the subject's calls are recorded.
    var records = false

    /// Whether agents run with the library after the work, too.
    var isAfterPowerFailure = false
    /// The work to do before the subject starts.
    var beforeSubject: (Trial) throws -> Void = { _ in }

    init(_ scenario: Scenario, _ subject: Subject, in root: String) throws {
        (self.scenario, self.subject, self.root) = (scenario, subject, root)
        try RawFile.makeDirectory(root + "/w")
        place = try AgentProcess.Place(in: root + "/w")
        intervention = try Intervention(in: root, root: root + "/w")
        let host = scenario.isOfHost ? DomainHost.only("EXAMPLE") : .any
        domain = Domain(try DomainName(Self.domainName), host: host)
    }

    var domainName: String { Self.domainName }
    var path: String { "\(place.preferences)/\(domain.fileName)" }
    /// The path of the file itself, if the other one is a link.
    var realPath: String {
        guard let resolved = realpath(path, nil) else { return path }
        defer { free(resolved) }
        return String(cString: resolved)
    }
    /// A directory beside the preferences.
    var elsewhere: String { place.root + "/elsewhere" }

    /// Returns a text of a length that differs from other numbers' texts.
    func text(_ number: Int, _ length: Int) -> String { String(repeating: "\(number) ", count: length / 2) }

    // MARK: The beginning

    /// Writes the files, does what precedes the work, and starts the agent.
    func begin() throws {
        if !scenario.settings.isEmpty { try set(scenario.settings) }
        if let format = scenario.format {
            if scenario.isOfHost { try RawFile.makeDirectory(Path.directory(of: path), mode: 0o700) }
            try RawFile.write(scenario.bytes(format), to: path)
            chmod(path, 0o640)
            state.withLock {
                $0.fragments = format == .xml ? [Scenario.comment] : []
                $0.ledger = Ledger(scenario.values)
                $0.mode = 0o640
            }
        }
        try scenario.prepare(self)
        try beforeSubject(self)
        if subject == .agent, !scenario.startsSubject { try startSubject() }
    }

    /// Writes the agent's settings.
    private func set(_ settings: DomainValues) throws {
        let bytes = try PropertyListValue.dictionary(settings).write(as: .xml)
        try RawFile.replace(place.path(AgentSettings.domainName), with: bytes)
    }

    /// Excludes "key" from the history, and returns when the agent has written its log anew.
    func excludeKey(byManifest: Bool = false) throws {
        let inode = try RawFile.status(place.log()).st_ino
        if byManifest {
            let key = "{ pfm_name = key; pfm_type = string; pfm_sensitive = <*BY>; }"
            try place.describe(domainName, with: key)
        } else {
            try set(scenario.settings.merging(Scenario.excluding) { $1 })
        }
        _ = eventually(within: 10) {
            agent?.isRunning != true || (try? RawFile.status(place.log()).st_ino) != inode
        }
    }

    /// Starts the agent under test, and follows it.
    func startSubject() throws {
        agent = try AgentProcess(
            place, arguments: ["--end-with-parent", "\(getpid())"],
            launcher: intervention.launcher(records: records))
        try follow()
    }

    private func follow() throws {
        guard let agent else { return }
        if let follower {
            try follower.resume(agent.connect())
        } else {
            follower = try TrialFollower(agent.connect(), domain)
        }
    }

    /// Runs a body with an agent that isn't under test.
    func withOtherAgent(isKilled: Bool = false, _ body: (AgentProcess) throws -> Void) throws {
        let other = try AgentProcess(place, arguments: ["--end-with-parent", "\(getpid())"])
        defer { other.kill() }
        try body(other)
        if !isKilled { other.terminate() }
    }

    // MARK: Work

    /// Begins the scenario's work.
    func work() -> Aside {
        Aside { [self] in
            do {
                try scenario.work(self)
            } catch {
                if !mayEnd { add(.survives, "the work failed: \(error)") }
            }
        }
    }

    /// Returns the files and writes that the killed subject has left behind.
    func leftovers(before act: Act) throws -> Leftovers {
        Leftovers(
            scenario: scenario.name, subject: subject, act: act, tree: try DiskTree(reading: place.root).withoutChance,
            writes: state.withLock { $0.ledger.outcomes })
    }

    /// Lets the next agent or command do what it does after a crash; the agent is killed then, or goes on.
    func recover(isKilled: Bool) {
        if subject == .agent {
            agent?.kill()
            agent = nil
            try? startSubject()
            synchronize()
            if !isKilled { return }
            agent?.kill()
            agent = nil
        } else {
            try? command(["write", domainName, "recovered", "-string", "x"], writes: ["recovered": "x"])
        }
    }

    /// Records a write by what a body says of its outcome.
    private func record(
        _ values: Difference, isEdit: Bool = false, _ body: () throws -> Ledger.Outcome
    ) rethrows {
        let token = state.withLock { $0.ledger.begin(values, isEdit: isEdit) }
        let began = recordedBytes
        let outcome = try body()
        state.withLock { $0.ledger.end(token, outcome) }
        disk.withLock { $0.writes.append(DiskWrite(values: values, began: began, outcome: outcome)) }
    }

    /// A write by the subject, with the sizes of the calls' records at its beginning and when it was durable.
    struct DiskWrite {
        var values: Difference
        var began: Int
        var outcome: Ledger.Outcome
        var durable: Int?
    }

    private let disk = Mutex((writes: [DiskWrite](), cursors: [(size: Int, cursor: Cursor)]()))
    private var recordedBytes: Int { records ? Int((try? RawFile.status(intervention.recordPath).st_size) ?? 0) : 0 }

    /// Records that all acknowledged writes are durable now.
    private func markDurable(_ cursor: Cursor? = nil) {
        let size = recordedBytes
        disk.withLock { disk in
            if let cursor { disk.cursors.append((size, cursor)) }
            for index in disk.writes.indices where disk.writes[index].outcome == .certain {
                disk.writes[index].durable = disk.writes[index].durable ?? size
            }
        }
    }

    /// Replaces what was written during the work by what was when the calls' records had a size.
    func failPower(at size: Int, before ledger: Ledger) {
        let (writes, cursors) = disk.withLock(\.self)
        var ledger = ledger
        for write in writes where write.began <= size && write.outcome != .refused {
            let token = ledger.begin(write.values)
            if let durable = write.durable, durable <= size { ledger.end(token, .certain) }
        }
        state.withLock { [ledger] in $0.ledger = ledger }
        lastCursor = cursors.last { $0.size <= size }?.cursor
        agent?.kill()
        (agent, follower) = (nil, nil)
        isAfterPowerFailure = true
        if scenario.name == "hard-link" {
            markDamaged()
            forgetFragments()
        }
    }

    /// The end of the log that a client has seen before the power failed.
    private var lastCursor: Cursor?
    var ledger: Ledger { state.withLock(\.ledger) }

    /// Edits the domain by the subject, and returns when the edit is saved, or only acknowledged.
    func edit(
        _ values: Difference, replacesAll: Bool = false, expecting: Difference? = nil, isSaved: Bool = true
    ) throws {
        if subject == .command { return try command(arguments(values, replacesAll), writes: all(values, replacesAll)) }
        guard let agent else { return }
        try edit(values, replacesAll: replacesAll, expecting: expecting, with: agent, isSaved: isSaved)
    }

    /// Edits the domain by an agent.
    func edit(
        _ values: Difference, replacesAll: Bool = false, expecting: Difference? = nil, with agent: AgentProcess,
        isSaved: Bool = true
    ) throws {
        record(all(values, replacesAll), isEdit: true) {
            let edit = Result {
                try agent.connect().edit(
                    domain, with: values, replacesAll: replacesAll, expecting: expecting, origin: nil)
            }
            return switch edit {
            case .success: .certain
            case .failure(let error): (error as? DefaultsError)?.code == .changed ? .refused : .unknown
            }
        }
        if isSaved { synchronize(agent) }
    }

    /// Imports values by the subject.
    func importAll(_ values: DomainValues) throws {
        let difference = Difference(uniqueKeysWithValues: values.map { ($0, $1) })
        if subject == .agent { return try edit(difference) }
        let file = root + "/import.plist"
        try RawFile.write(PropertyListValue.dictionary(values).write(as: .xml), to: file)
        try command(["import", domainName, file], writes: difference)
    }

    /// Returns an edit with the removal of all other keys.
    private func all(_ values: Difference, _ replacesAll: Bool) -> Difference {
        if !replacesAll { return values }
        state.withLock { ($0.fragments, $0.mode) = ([], nil) }
        // Keys that others write meanwhile may be removed, too.
        let others = ["foreign", "other", "stored"]
        let keys = state.withLock { $0.ledger.keys } + others
        return Difference(uniqueKeysWithValues: keys.map { ($0, nil) }).merging(values) { $1 }
    }

    private func arguments(_ values: Difference, _ replacesAll: Bool) -> [String] {
        guard let (key, value) = values.first, !replacesAll else { return ["delete", domainName] }
        guard case .string(let text)? = value else { return ["delete", domainName, key] }
        return ["write", domainName, key, "-string", text]
    }

    /// The arguments that make a command use the scenario's host.
    var hostArguments: [String] { scenario.isOfHost ? ["-host", "EXAMPLE"] : [] }

    /// Runs a command, which is the subject if there is no agent.
    ///
    /// - Parameters:
    ///   - arguments: The command's arguments.
    ///   - values: The values that it writes.
    ///   - others: The values that it writes if others have removed what was there.
    /// - Throws: An error if it can't be run.
    func command(_ arguments: [String], writes values: Difference, or others: Difference = [:]) throws {
        let other = state.withLock { $0.ledger.begin(others) }
        defer { state.withLock { $0.ledger.end(other, .unknown) } }
        let isSubject = subject == .command
        let command =
            (isSubject ? intervention.launcher(records: records) : []) + [Programs.defaults] + hostArguments + arguments
        try record(values, isEdit: true) {
            let program = try RunningProgram(
                command[0], Array(command[1...]),
                environment: isSubject ? environmentWithoutAgent : place.environment)
            let outcome = try program.finish()
            if isSubject, outcome.status > 128, !mayEnd {
                add(.survives, "`defaults \(arguments.joined(separator: " "))` ended with \(outcome.status)")
            }
            return outcome.status == 0 ? .certain : .unknown
        }
        markDurable()
    }

    /// The variables of programs that must not find the agent.
    private var environmentWithoutAgent: [String: String] {
        place.environment.merging(["DEFAULTSD_SOCKET": ""]) { $1 }
    }
    /// The variables of commands that acts run.
    var environmentOfOthers: [String: String] { subject == .agent ? place.environment : environmentWithoutAgent }

    func synchronize() { if let agent { synchronize(agent) } }

    private func synchronize(_ agent: AgentProcess) {
        guard let (cursor, failures) = try? agent.connect().barrier(), failures.isEmpty else { return }
        markDurable(cursor)
    }

    /// Ends the agent as a service manager does.
    func endSubject() {
        guard let status = agent?.terminate() else { return }
        if status == 0 { markDurable() }
        if status != 0, !mayEnd { add(.survives, "the agent ended with \(status) on SIGTERM") }
    }

    /// Makes the agent replace itself by the installed program, and returns when that answers.
    func upgradeSubject() throws {
        guard let agent, let former = try? agent.connect() else { return }
        agent.signal(SIGUSR2)
        // The former agent closes its connections when it ends.
        do { while agent.isRunning { _ = try former.nextEvent(within: 1_000) } } catch {}
        _ = eventually(within: 30) { !agent.isRunning || (try? agent.connect()) != nil }
    }

    // MARK: Foreign writers

    /// A foreign writer's way to write.
    enum Writing {
        case renamed
        case inPlace
    }

    /// Reads a file and writes it with other values, as editors and scripts do: everything else stays as it is.
    func writeForeign(
        in path: String, as writing: Writing, _ values: DomainValues, isCertain: Bool = true
    ) throws {
        let bytes = RawFile.exists(path) ? try RawFile.read(path) : []
        // A writer that finds something else doesn't know what to do.
        guard let new = Self.adding(values, to: bytes) else { return }
        func write() throws {
            try record(Difference(uniqueKeysWithValues: values.map { ($0, $1) })) {
                switch writing {
                case .inPlace: try RawFile.write(new, to: path)
                case .renamed: try replace(path, with: new)
                }
                return isCertain ? .certain : .unknown
            }
        }
        guard bytes.isEmpty, scenario.isForeign else { return try write() }
        // The file was elsewhere for a moment, as while its directory is remade, and is replaced unread.
        forgetFragments()
        let others = ledger.keys.filter { values[$0] == nil }
        try record(Difference(uniqueKeysWithValues: others.map { ($0, nil) })) {
            try write()
            return .unknown
        }
    }

    /// Replaces a file by one with the same permissions.
    func replace(_ path: String, with bytes: [UInt8]) throws {
        var status = stat()
        let isThere = stat(path, &status) == 0
        try RawFile.write(bytes, to: path + ".tmp~")
        chmod(path + ".tmp~", isThere ? status.st_mode & 0o777 : 0o640)
        guard rename(path + ".tmp~", path) == 0 else { throw TestSystemError("rename \(path)") }
    }

    /// The bytes of the file before the work; `nil` if there was none.
    private var version: [UInt8]?
    func rememberVersion() throws { version = RawFile.exists(path) ? try RawFile.read(path) : nil }

    /// Replaces a file by the version before the work, with other values.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - others: Values that the version lacks.
    ///   - certain: The keys whose changes certainly apply; `nil` for all that differ.
    /// - Throws: The failure of the system call.
    func restore(_ path: String, adding others: DomainValues = [:], certainly certain: [String]? = nil) throws {
        guard let version, let new = others.isEmpty ? version : Self.adding(others, to: version) else { return }
        let held = values(at: path)
        let restored = Self.values(in: new)
        let differing = Set(held.keys).union(restored.keys).filter { held[$0] != restored[$0] }
        // A restore of what is there changes nothing. If it changes more than one edit did, or the file was written in
        // place, the last edit may be saved again. Without its records, the log doesn't know the version.
        if differing.isEmpty { return try replace(path, with: new) }
        let isCertain =
            ledger.isOneWrite(differing) && !scenario.discardsRecords && scenario.name != "hard-link"
        func difference(_ keys: some Sequence<String>) -> Difference {
            Difference(uniqueKeysWithValues: keys.map { ($0, restored[$0]) })
        }
        try record(difference(differing.union(ledger.keys))) {
            try record(difference(certain.map(differing.intersection) ?? (isCertain ? differing : []))) {
                try replace(path, with: new)
                return .certain
            }
            return .unknown
        }
    }

    /// Returns a document with other values; `nil` if it isn't one.
    static func adding(_ values: DomainValues, to bytes: [UInt8]) -> [UInt8]? {
        if bytes.isEmpty { return try? PropertyListValue.dictionary(values).write(as: .xml) }
        guard case .dictionary(let held)? = try? PropertyListValue(parsing: bytes) else { return nil }
        let format = PropertyListFormat.detect(bytes)
        let new = held.merging(values) { $1 }
        guard format == .xml, let written = try? PropertyListValue.dictionary(new).write(as: .xml) else {
            return try? PropertyListValue.dictionary(new).write(as: format)
        }
        // An editor leaves comments alone.
        let text = String(decoding: bytes, as: UTF8.self)
        return text.contains(Scenario.comment) ? Scenario.commented(written) : written
    }

    /// Runs a body while a program has the file open for writing, which then writes what it had read, with a change.
    func withOpenWriter(_ late: PropertyListValue = "written", _ body: () throws -> Void) throws {
        try whileOpenForWriting(late, body)
        synchronize()
    }

    private func whileOpenForWriting(_ late: PropertyListValue, _ body: () throws -> Void) throws {
        let file = open(path, O_RDWR | O_CLOEXEC)
        defer { close(file) }
        guard file >= 0, let new = Self.adding(["late": late], to: try RawFile.read(path)) else {
            throw TestSystemError("open \(path)")
        }
        try body()
        let isNamed = hasReplaced.withLock { !$0 }
        record(["late": late]) {
            ftruncate(file, 0)
            guard pwrite(file, new, new.count, 0) == new.count else { return .unknown }
            // If another program has replaced the file, the writer has written to a file without a name. If the log
            // lacks the version that the writer had read, a copy is made.
            return isNamed && !scenario.hasShortLog ? .certain : .unknown
        }
    }

    /// Whether an act has replaced or removed the file.
    private let hasReplaced = Mutex(false)
    func markReplaced() { hasReplaced.withLock { $0 = true } }

    /// The number of times that the directory was copied; a copy may have a lock file that no program has created.
    private let copies = Mutex(0)

    /// Replaces the directory by a copy of itself.
    func remakeDirectory() throws {
        let (directory, copy) = (place.preferences, place.root + "/copy")
        let number = copies.withLock { number in
            number += 1
            return number
        }
        guard try Programs.run("cp", ["-a", directory, copy]).status == 0,
            rename(directory, place.root + "/former\(number)") == 0, rename(copy, directory) == 0
        else { throw TestSystemError("remake \(directory)") }
    }

    /// Removes the file's values, as far as it has some at the moment.
    func recordLoss(isCertain: Bool, _ body: () -> Void) {
        let values = values(at: path)
        // Edits that the file lacks may be newer or not: they were made before, but are saved later.
        let (current, others) = state.withLock { state in
            (state.fragments, state.mode) = ([], nil)
            let current = values.filter { state.ledger.allowed($0.key) == [$0.value] }.keys
            return (current, Set(values.keys).subtracting(current))
        }
        record(Difference(uniqueKeysWithValues: others.map { ($0, nil) })) {
            record(Difference(uniqueKeysWithValues: current.map { ($0, nil) })) {
                body()
                return isCertain ? .certain : .unknown
            }
            return .unknown
        }
    }

    func values(at path: String) -> DomainValues { Self.values(in: (try? RawFile.read(path)) ?? []) }

    private static func values(in bytes: [UInt8]) -> DomainValues {
        guard !bytes.isEmpty, case .dictionary(let values)? = try? PropertyListValue(parsing: bytes) else { return [:] }
        return values
    }

    func doubt() { state.withLock { [keys = values(at: path).keys] in $0.ledger.doubt(keys) } }
    func markDamaged() { state.withLock { $0.mayBeDamaged = true } }
    func expectMode(_ mode: mode_t?) { state.withLock { $0.mode = mode } }
    func forgetFragments() { state.withLock { $0.fragments = [] } }

    // MARK: The end

    func add(_ promise: Promise, _ what: String) { add(text(promise, what)) }
    private func text(_ promise: Promise, _ what: String) -> String { "\(promise.rawValue): \(what)." }
    private func add(_ finding: String) { state.withLock { $0.findings.append(finding) } }
    var findings: [String] { state.withLock(\.findings) }

    /// Waits until everything is quiet, and checks all promises.
    func settle() throws {
        intervention.disarm()
        for aside in asides { if !aside.finish() { add(.settles, "another program doesn't end") } }
        for other in otherAgents { end(other) }
        if let agent, !agent.isRunning {
            let status = agent.status(within: 1) ?? -1
            if !mayEnd, status != 0 { add(.survives, "the agent ended with \(status): \(agent.complaints())") }
            self.agent = nil
        }
        var last = try agent ?? nextAgent()
        last.signal(SIGHUP)
        settle(last)
        if mayHaveGaps, scenario.startsSubject, last.isRunning {
            // If it couldn't read the log at its start, the unsaved edits come back with the next one.
            if last.terminate() != 0 { add(.survives, "an agent didn't end properly: \(last.complaints())") }
            last = try nextAgent()
            settle(last)
        }
        agent = last
        check(last)
        if let follower, let end = try? last.connect().barrier().cursor {
            let breaches = try follower.finish(
                at: end, last,
                isComplete: !mayHaveGaps && !mayMissRecords && !scenario.hasShortLog,
                isKept: !mayHaveGaps && !scenario.discardsRecords && !scenario.excludesKey)
            breaches.forEach { add("\(Promise.followers.rawValue): \($0)") }
        }
        if last.terminate() != 0 { add(.survives, "an agent didn't end properly") }
        checkFiles()
        try checkStart()
    }

    /// Starts the agent of a later session.
    private func nextAgent() throws -> AgentProcess {
        let begin = ContinuousClock.now
        let next = try AgentProcess(
            place, arguments: ["--end-with-parent", "\(getpid())"],
            launcher: isAfterPowerFailure ? intervention.launcher() : [])
        // A start takes some 30 ms, but 16 trials run at once, and the disk may have other work.
        if ContinuousClock.now - begin > .seconds(10) { add(.start, "it took \(ContinuousClock.now - begin)") }
        if follower == nil {
            follower = try TrialFollower(next.connect(), domain)
        } else {
            try follower?.resume(next.connect())
        }
        return next
    }

    /// Waits until all edits are saved and no error is left.
    private func settle(_ agent: AgentProcess) {
        var left: [String] = []
        var end: Cursor?
        let isSettled = eventually(within: 30) {
            guard let connection = try? agent.connect(), let barrier = try? connection.barrier(),
                let status = try? connection.status()
            else {
                left = ["the agent doesn't answer"]
                return !agent.isRunning
            }
            end = barrier.cursor
            left = barrier.failures.map(\.description)
            if status["errors"] != [] { left.append("\(status["errors"] ?? "")") }
            if status["pending"] != [], !state.withLock({ $0.mayBeDamaged }) {
                left.append("pending: \(status["pending"] ?? "")")
            }
            if state.withLock({ $0.mayBeDamaged }) { left = left.filter { !$0.contains(path) } }
            return left.isEmpty
        }
        if !agent.isRunning {
            add(.survives, "the agent ended with \(agent.status(within: 1) ?? -1): \(agent.complaints())")
        } else if !isSettled || !left.isEmpty {
            add(.settles, left.joined(separator: "; "))
        }
        if let end, let lastCursor, end.epoch == lastCursor.epoch, end.revision < lastCursor.revision {
            add(.followers, "the log ends at \(end), but a client has seen \(lastCursor)")
        }
    }

    /// Checks the agent's values and the file's.
    private func check(_ agent: AgentProcess) {
        var findings: [String] = []
        // Work that a failed call has delayed is done within seconds.
        _ = eventually(within: mayHaveGaps ? 10 : 0) {
            findings = self.findings(of: agent)
            return findings.isEmpty
        }
        findings.forEach(add)
    }

    private func findings(of agent: AgentProcess) -> [String] {
        let (ledger, mayBeDamaged) = state.withLock { ($0.ledger, $0.mayBeDamaged) }
        guard let values = try? agent.connect().snapshot(of: domain).values else {
            return [text(.survives, "the agent doesn't answer")]
        }
        var findings = ledger.findings(values)
        guard RawFile.exists(path) else {
            return findings + (values.isEmpty ? [] : [text(.nothingLost, "the agent has values, but there is no file")])
        }
        let bytes = (try? RawFile.read(path)) ?? []
        let held = try? PropertyListValue(parsing: bytes)
        if held != .dictionary(values), !(mayBeDamaged && held == nil) {
            var differing = "it is damaged"
            if case .dictionary(let held)? = held {
                let keys = Set(held.keys).union(values.keys).filter { held[$0] != values[$0] }
                differing = "the agent has other values of \(keys.sorted())"
            }
            findings.append(text(.parses, differing))
        }
        for fragment in state.withLock(\.fragments) where !String(decoding: bytes, as: UTF8.self).contains(fragment) {
            findings.append(text(.bytes, "\(fragment) is missing"))
        }
        if let mode = state.withLock(\.mode), let status = try? RawFile.status(path),
            status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o777 != mode
        {
            let octal = { (mode: mode_t) in String(mode, radix: 8) }
            findings.append(text(.permissions, "they are \(octal(status.st_mode & 0o777)), not \(octal(mode))"))
        }
        return findings
    }

    /// Checks that nothing but the files and copies of them is left.
    private func checkFiles() {
        let directories = [
            place.preferences, place.preferences + "/ByHost", elsewhere, place.state + "/defaultsd", place.runtime,
        ]
        // A lock file that couldn't be examined, or that was left behind a link, stays until the next save there. So
        // does the copy of one.
        let mayHaveLock = mayHaveGaps || copies.withLock { $0 > 0 }
        let left = directories.flatMap { directory in
            namesOfFiles(in: directory).filter { name in
                // The log's lock stays, since it has no other use.
                name.hasPrefix(".") && !((mayHaveLock || directory == elsewhere) && name == DirectoryLock.fileName)
                    || name.contains(".new")
                    || name == "socket" || name == "socket.lock"
            }
        }
        if !left.isEmpty { add(.clean, left.joined(separator: ", ")) }
    }

    /// Checks that one more start finds the same values, and that the log doesn't grow with it.
    private func checkStart() throws {
        // The first start after damage may say so, the next one that edits can't be saved, and the one after a failure
        // may add what couldn't be written.
        let mayBeDamaged = state.withLock(\.mayBeDamaged)
        for _ in 0..<(mayBeDamaged ? 2 : mayHaveGaps ? 1 : 0) { try nextAgent().terminate() }
        let before = try size()
        let values = values(at: path)
        let next = try nextAgent()
        defer { next.kill() }
        if let found = try? next.connect().snapshot(of: domain).values, found != values,
            !state.withLock({ $0.mayBeDamaged })
        {
            add(.nothingLost, "after one more start, the agent has \(found)")
        }
        if next.terminate() != 0 { add(.survives, "an agent didn't end properly") }
        let growth = try size() - before
        // A log that is too large becomes smaller with some starts, and larger again with the next.
        if growth > 0, !scenario.hasShortLog { add(.start, "it grew by \(growth) bytes with a start") }
    }

    private func size() throws -> Int { Int((try? RawFile.status(place.log()).st_size) ?? 0) }

    /// Ends all programs.
    func end() {
        intervention.disarm()
        for other in otherAgents { other.kill() }
        agent?.kill()
    }

    // MARK: Other programs

    /// Lets another program write some values, which may have to wait for the subject.
    func writeAside(_ key: String, in environment: [String: String]) {
        let arguments = hostArguments + ["write", domainName, key, "written"]
        let token = state.withLock { $0.ledger.begin([key: "written"]) }
        let aside = Aside { [self] in
            let outcome = try? Programs.run(Programs.defaults, arguments, environment: environment)
            state.withLock { $0.ledger.end(token, outcome?.status == 0 ? .certain : .unknown) }
        }
        _ = aside.finish(within: 0.15)
        asides.append(aside)
    }

    /// Starts another agent, which ends by itself unless the subject has ended.
    func startOtherAgent() throws {
        // An agent that is just starting, or restarting, may be the one that is refused.
        if scenario.startsSubject || scenario.name == "upgrade" { mayEnd = true }
        let other = try RunningProgram(
            Programs.defaultsd, ["--end-with-parent", "\(getpid())"], environment: place.environment)
        _ = other.status(within: 0.15)
        otherAgents.append(other)
    }

    private func end(_ other: RunningProgram) {
        // If it can't serve the directory, it says so with status 75 as soon as it knows.
        _ = other.status(within: 1)
        other.signal(SIGTERM)
        let status = other.status(within: 30)
        // One that has hardly started is ended by the signal itself.
        if ![0, 75, 128 + SIGTERM].contains(status) {
            add(.survives, "another agent ended with \(status ?? -1): \(other.complaints())")
        }
    }

    func killSubject() {
        mayEnd = true
        Glibc.kill(intervention.process, SIGKILL)
        _ = agent?.status(within: 10)
    }
}
