import DefaultsClient
import DefaultsCore
import DefaultsKit
import Foundation
import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// An agent that crashes or gets an error, at each system call of its work on files in turn.
///
/// A normal run covers some of the calls and errors, in rotation, and some pairs of crashes.
/// `FAULTS=all swift test --filter FaultTests` covers all of them, in ten minutes.
@Suite("Faults in the agent's system calls", .enabled(if: Injection.isPossible))
struct AgentFaultTests {
    static let domain = "org.example.app"
    static let before: DomainValues = ["old": "kept", "key": "before"]
    static let after = before.merging(["key": "after"]) { $1 }
    static let hasAll = ProcessInfo.processInfo.environment["FAULTS"] == "all"

    /// A system call of the agent: its name, and its number among one thread's calls of that name.
    struct Call: Hashable, CustomStringConvertible {
        var name: String
        var number: Int
        var description: String { "\(name) \(number)" }
    }

    /// The files on which calls fail.
    enum Spot: String, CaseIterable {
        case directory
        case file
        case temporary
        case log
        case locks

        func paths(in place: AgentProcess.Place) throws -> [String] {
            switch self {
            case .directory: return [place.preferences]
            case .file: return [place.path(domain)]
            case .temporary:
                let name = ContentHash(Array("\(domain).plist".utf8))
                let old = ContentHash(try PropertyListValue.dictionary(before).write(as: .xml))
                return try [after, before.filter { $0.key != "key" }].flatMap { values in
                    let new = ContentHash(try PropertyListValue.dictionary(values).write(as: .xml))
                    // Files that were displaced a moment ago may have the first names.
                    return (0..<16).map { "\(place.preferences)/.defaultsd.\($0).\(name).\(new).\(old)" }
                }
            case .log: return [try place.log(), try place.log() + ".new-1"]
            case .locks:
                return ["\(place.preferences)/.defaultsd.agent", "\(place.preferences)/.defaultsd.lock"]
                    + [place.socket + ".lock", try place.log() + ".lock"]
            }
        }
    }

    // MARK: A place and its agent

    /// Runs a test with an agent that keeps edits in memory until a save is requested.
    func withAgent<Result>(_ body: (AgentProcess) throws -> Result) throws -> Result {
        try AgentProcess.withAgent(
            prepare: { place in
                try RawFile.write(
                    PropertyListValue.dictionary(["SaveDelay": 60_000, "SaveLimit": 60_000]).write(as: .xml),
                    to: place.path(AgentSettings.domainName))
                try prepare(place)
            }, body)
    }

    private func prepare(_ place: AgentProcess.Place) throws {
        try RawFile.replace(
            place.path(Self.domain), with: PropertyListValue.dictionary(Self.before).write(as: .xml))
    }

    func values(_ place: AgentProcess.Place) throws -> DomainValues {
        guard RawFile.exists(place.path(Self.domain)),
            case .dictionary(let values) = try PropertyListValue(parsing: RawFile.read(place.path(Self.domain)))
        else { return [:] }
        return values
    }

    /// Makes the edit, which the agent has acknowledged but may not have saved on return.
    func edit(_ agent: AgentProcess, key value: PropertyListValue = "after") throws {
        try make(["key": value], agent)
    }

    func make(_ edit: Difference, replacesAll: Bool = false, _ agent: AgentProcess) throws {
        try agent.connect().edit(Domain(try DomainName(Self.domain)), with: edit, replacesAll: replacesAll)
    }

    /// Makes the edit and returns once it is saved.
    func save(_ agent: AgentProcess) throws {
        try edit(agent)
        try agent.synchronize()
    }

    /// Returns the directory's files, without the backup copies of displaced files that couldn't be read.
    private func names(in place: AgentProcess.Place) -> [String] {
        (place.files + place.hiddenVersions).filter { !$0.contains(".plist.displaced-") }
    }

    /// Expects nothing in the directory but the domains' files.
    func expectNoLeftovers(_ place: AgentProcess.Place, hasFile: Bool = true, _ comment: String) {
        // Displaced files are kept for a second.
        _ = eventually(within: 60) { place.hiddenVersions == [] }
        let names = Set(names(in: place))
        let expected = ["\(AgentSettings.domainName).plist"] + (hasFile ? ["\(Self.domain).plist"] : [])
        #expect(names == Set(expected), "\(comment)")
        let left = namesOfFiles(in: place.state + "/defaultsd").filter { $0.contains(".log.new") }
        #expect(left == [], "\(comment)")
    }

    /// Returns the system calls that an agent makes at some spots while a body runs.
    private func calls(
        at spots: [Spot], _ agent: AgentProcess, during body: () throws -> Void
    ) throws -> [Call] {
        let trace = agent.place.root + "/trace"
        let paths = try spots.flatMap { try $0.paths(in: agent.place) }
        let tracing = try AttachedFault(agent.pid, at: paths, nil, output: trace)
        defer { tracing.end() }
        try body()
        tracing.end()
        let calls = Injection.calls(in: try String(contentsOfFile: trace, encoding: .utf8))
            .map { Call(name: $0.name, number: $0.number) }
        var seen: Set<Call> = []
        return calls.filter { seen.insert($0).inserted }
    }

    // MARK: Crashes

    @Test("A crash at any call of a save loses no acknowledged edit, and the next agent cleans up")
    func crash() throws {
        var calls: [Call] = []
        try withAgent { agent in
            calls = try self.calls(at: Spot.allCases, agent) { try save(agent) }
        }
        #expect(calls.count > 20)
        var faults = Faults()
        for (index, call) in calls.enumerated() where Self.hasAll || index % 4 == 1 {
            try withAgent { agent in
                let fault = try AttachedFault(
                    agent.pid, at: Spot.allCases.flatMap { try $0.paths(in: agent.place) },
                    "\(call.name):signal=KILL:when=\(call.number)")
                let isAcknowledged = (try? edit(agent)) != nil
                let isSaved = (try? agent.synchronize()) != nil
                fault.end(afterDeath: true)
                let hasCrashed = fault.tookEffect || !isSaved
                faults.add("\(call)", tookEffect: hasCrashed)
                if !hasCrashed { #expect(agent.isRunning, "\(call)") }
                agent.kill()
                let values = try values(agent.place)
                #expect(values == Self.after || hasCrashed && !isSaved && values == Self.before, "\(call): \(values)")

                let next = try AgentProcess(agent.place)
                defer { next.kill() }
                let domain = Domain(try DomainName(Self.domain))
                let found = try next.connect().snapshot(of: domain).values
                #expect(found == Self.after || !isAcknowledged && found == Self.before, "\(call): \(found)")
                #expect(try next.connect().barrier().failures == [], "\(call)")
                #expect(try self.values(agent.place) == found, "\(call)")
                let status = try next.status()
                #expect(status["errors"] == [] && status["pending"] == [], "\(call)")
                #expect(eventually { names(in: agent.place).count == 2 }, "\(call)")
                expectNoLeftovers(agent.place, "\(call)")
            }
        }
        faults.expectMost()
    }

    /// The injected faults, and those without effect: an agent needn't make all the calls that another one made.
    struct Faults {
        private var count = 0
        private var ineffective: [String] = []

        mutating func add(_ fault: String, tookEffect: Bool) {
            count += 1
            if !tookEffect { ineffective.append(fault) }
        }

        /// Expects most faults to have taken effect; otherwise the test would prove nothing.
        func expectMost() {
            #expect(ineffective.count * 4 < count, "Of \(count) faults, these had no effect: \(ineffective)")
        }
    }

    // MARK: Errors

    private static let errors: [(name: String, number: Int32)] = [
        ("ENOSPC", ENOSPC), ("EIO", EIO), ("EACCES", EACCES), ("EROFS", EROFS), ("EDQUOT", EDQUOT),
        ("EMFILE", EMFILE), ("EINTR", EINTR),
    ]

    /// Runs a test with each error at each call that an agent makes at a spot during some work.
    private func forEachError(
        at spots: [Spot], during work: (AgentProcess) throws -> Void, reset: (AgentProcess) throws -> Void,
        _ body: (AgentProcess, (name: String, reason: String), _ inject: () throws -> AttachedFault) throws -> Void
    ) throws {
        var turn = 0
        var faults = Faults()
        for spot in spots {
            try withAgent { agent in
                // A `close` that fails still closes the file, but strace injects an error by skipping the call.
                let names = Set(try calls(at: [spot], agent) { try work(agent) }.map(\.name)).subtracting(["close"])
                    .sorted()
                #expect(!names.isEmpty)
                for name in names {
                    turn += 1
                    for error in Self.hasAll ? Self.errors : [Self.errors[turn % Self.errors.count]] {
                        // An interrupted call must succeed eventually, as it does in reality.
                        let when = error.number == EINTR ? ":when=1+2" : ""
                        try reset(agent)
                        try agent.synchronize()
                        let what = "\(name) at \(spot): \(error.name)"
                        var fault: AttachedFault?
                        try body(agent, (what, String(cString: strerror(error.number)))) {
                            let attached = try AttachedFault(
                                agent.pid, at: spot.paths(in: agent.place), "\(name):error=\(error.name)\(when)")
                            fault = attached
                            return attached
                        }
                        faults.add(what, tookEffect: fault?.tookEffect == true)
                    }
                }
                // Checked only once per spot: displaced files are kept for a second.
                expectNoLeftovers(agent.place, "\(spot)")
            }
        }
        faults.expectMost()
    }

    /// Expects that each report about the domain, other than its changes, occurs once.
    private func expectOnce(_ events: [String], _ what: String) {
        let told = events.filter { !$0.hasSuffix(")") }
        let troubles = told.filter { $0 != "\(Self.domain): recovered" }
        #expect(Set(troubles).count == troubles.count, "\(what): \(told)")
        #expect(told.last == (troubles.isEmpty ? nil : "\(Self.domain): recovered"), "\(what): \(told)")
        #expect(told.count - troubles.count <= 1, "\(what): \(told)")
    }

    @Test("An error in a save is reported with its reason, and the edits are kept and saved once it is gone")
    func saving() throws {
        // The reset is an edit. If a foreign writer restored the old value, the agent would apply its edit again.
        let reset = { (agent: AgentProcess) in try edit(agent, key: "before") }
        try forEachError(at: [.directory, .file, .temporary], during: save, reset: reset) { agent, error, inject in
            let follower = try agent.follow()
            _ = try follower.changes()
            let fault = try inject()
            defer { fault.end() }
            let outcome = try agent.defaults("write", Self.domain, "key", "after")
            let isSaved = outcome.status == 0
            if isSaved {
                #expect(try values(agent.place) == Self.after, "\(error.name): The command reported a save.")
            } else {
                #expect(outcome.status == 74 && outcome.errors.contains(error.reason), "\(error.name): \(outcome)")
                for _ in 0..<2 {
                    let again = try agent.defaults("sync")
                    #expect(again.status == 74 && again.errors.contains(error.reason), "\(error.name): \(again)")
                }
                let status = try agent.defaults("status").output
                #expect(status.contains(error.reason), "\(error.name): \(status)")
                #expect(try agent.status()["pending"] != [], "\(error.name)")
            }
            #expect(try agent.defaults("read", Self.domain, "key").output == "after\n", "\(error.name)")
            fault.end()
            #expect(isSaved || fault.tookEffect, "\(error.name)")

            let sync = try agent.defaults("sync")
            #expect(sync.status == 0, "\(error.name): \(sync)")
            #expect(try values(agent.place) == Self.after, "\(error.name)")
            let status = try agent.status()
            #expect(status["errors"] == [] && status["pending"] == [], "\(error.name): \(status)")
            let events = try follower.changes()
            #expect(isSaved || events.contains("\(Self.domain): unsaved"), "\(error.name): \(events)")
            expectOnce(events, error.name)
        }
    }

    @Test("A failing save is retried with backoff, not at each file event that its attempts cause")
    func pace() throws {
        try withAgent { agent in
            let fault = try AttachedFault(agent.pid, at: [agent.place.preferences], "fsync:error=EIO")
            defer { fault.end() }
            try edit(agent)
            try? agent.synchronize()
            let isTold = try eventually { try agent.status()["errors"] != [] }
            #expect(isTold)
            #expect(try agent.comesToRest())
            fault.end()
            try agent.synchronize()
            #expect(try values(agent.place) == Self.after)
            let isClean = eventually { agent.place.files.count == 2 }
            #expect(isClean)
        }
    }

    /// Returns the number of lines in a trace that contain a call.
    private func count(_ call: String, in trace: String) throws -> Int {
        try String(contentsOfFile: trace, encoding: .utf8).split(separator: "\n").count { $0.contains(call) }
    }

    @Test("A conditional edit attempts a failing save once, and retries follow the backoff")
    func conditionalEdits() throws {
        try withAgent { agent in
            let trace = agent.place.root + "/trace"
            let fault = try AttachedFault(
                agent.pid, at: [agent.place.preferences], "fsync:error=EIO", output: trace)
            defer { fault.end() }
            let (connection, domain) = (try agent.connect(), Domain(try DomainName(Self.domain)))
            for number in 0..<10 as Range<Int64> {
                try connection.edit(
                    domain, with: ["number": .integer(number)], replacesAll: false,
                    expecting: ["number": number == 0 ? nil : .integer(number - 1)])
            }
            fault.end()
            // One for each edit, and the retries after 1, 2, 4 s …
            let attempts = try count("fsync(", in: trace)
            #expect(attempts >= 10 && attempts < 18, "\(attempts)")
            try agent.synchronize()
            #expect(try values(agent.place)["number"] == 9)
        }
    }

    @Test("A save succeeds on a file system that can't sync directories")
    func noDirectorySync() throws {
        try withAgent { agent in
            let fault = try AttachedFault(agent.pid, at: [agent.place.preferences], "fsync:error=EINVAL")
            defer { fault.end() }
            let outcome = try agent.defaults("write", Self.domain, "key", "after")
            #expect(outcome.status == 0, "\(outcome)")
            #expect(try values(agent.place) == Self.after)
            #expect(try agent.status()["errors"] == [])
        }
    }

    @Test("A command whose agent dies during a save reports that the edit was made but may not be on disk")
    func endWhileSaving() throws {
        try withAgent { agent in
            let fault = try AttachedFault(agent.pid, at: Spot.temporary.paths(in: agent.place), "fsync:signal=KILL")
            let outcome = try agent.defaults("write", Self.domain, "key", "after")
            fault.end(afterDeath: true)
            #expect(outcome.status == 69)
            #expect(outcome.errors.hasSuffix("The edit was made but may not be on disk yet.\n"), "\(outcome)")
            let next = try AgentProcess(agent.place)
            defer { next.kill() }
            try next.synchronize()
            #expect(try values(agent.place) == Self.after)
        }
    }

    @Test("An error in reading is reported, the last values stay, and the new ones are read once it is gone")
    func reading() throws {
        let new = try PropertyListValue.dictionary(Self.after).write(as: .xml)
        try forEachError(
            at: [.file, .directory],
            during: { agent in
                try RawFile.replace(agent.place.path(Self.domain), with: new)
                agent.signal(SIGHUP)
                try agent.synchronize()
            },
            reset: { try prepare($0.place) }
        ) { agent, error, inject in
            let follower = try agent.follow()
            _ = try follower.changes()
            let fault = try inject()
            defer { fault.end() }
            try RawFile.replace(agent.place.path(Self.domain), with: new)
            agent.signal(SIGHUP)
            for _ in 0..<2 { try agent.synchronize() }
            let value = try agent.defaults("read", Self.domain, "key")
            if value.output != "after\n" {
                #expect(value.output == "before\n", "\(error.name): \(value)")
                let status = try agent.defaults("status").output
                #expect(!status.contains("errors       none"), "\(error.name): \(status)")
            }
            fault.end()
            #expect(value.output == "after\n" || fault.tookEffect, "\(error.name)")

            try agent.synchronize()
            #expect(try agent.defaults("read", Self.domain, "key").output == "after\n", "\(error.name)")
            #expect(try agent.status()["errors"] == [], "\(error.name)")
            expectOnce(try follower.changes(), error.name)
            expectNoLeftovers(agent.place, error.name)
        }
    }

    @Test("An error in the change log is reported, saves still succeed, and the log resumes once it is gone")
    func logging() throws {
        try forEachError(at: [.log], during: save, reset: { try edit($0, key: "before") }) { agent, error, inject in
            let follower = try agent.follow()
            _ = try follower.changes()
            let fault = try inject()
            defer { fault.end() }
            let outcome = try agent.defaults("write", Self.domain, "key", "after")
            #expect(outcome.status == 0, "\(error.name): \(outcome)")
            #expect(try values(agent.place) == Self.after, "\(error.name)")
            let status = try agent.defaults("status").output
            #expect(status.contains("errors       none") || status.contains(error.reason), "\(error.name): \(status)")
            fault.end()
            #expect(status.contains("errors       none") || fault.tookEffect, "\(error.name): \(status)")

            // The log's file may be recreated only at a later retry, but SIGHUP makes the agent try immediately.
            agent.signal(SIGHUP)
            let isClean = try eventually { try agent.status()["errors"] == [] }
            #expect(isClean, "\(error.name)")
            let changes = try follower.changes()
            #expect(changes == ["\(Self.domain): key before>after (app)"], "\(error.name)")
            #expect(RawFile.exists(try agent.place.log()), "\(error.name)")
            expectNoLeftovers(agent.place, error.name)
        }
    }

    /// Expects the agent to retry its change log with backoff, however often it saves, and to succeed once it can.
    private func expectPaceOfLog(_ agent: AgentProcess, _ injection: String?, mend: () -> Void = {}) throws {
        let trace = agent.place.root + "/trace"
        let tracing = try AttachedFault(agent.pid, at: Spot.log.paths(in: agent.place), injection, output: trace)
        defer { tracing.end() }
        let (connection, domain) = (try agent.connect(), Domain(try DomainName(Self.domain)))
        for number in 0..<30 as Range<Int64> {
            try connection.edit(domain, with: ["number": .integer(number)], replacesAll: false)
            #expect(try connection.barrier([domain]).failures == [])
        }
        #expect(try agent.status()["errors"] != [])
        tracing.end()
        // The retries come after 1, 2, 4 s …
        let attempts = try count("O_EXCL", in: trace)
        #expect(attempts < 15, "\(attempts)")
        mend()
        let isKept = try eventually(within: 60) {
            try agent.status()["errors"] == [] && RawFile.exists(agent.place.log())
        }
        #expect(isKept)
    }

    @Test("A change log that can't be written is retried with backoff, not at every save")
    func paceOfLog() throws {
        try withAgent { try expectPaceOfLog($0, "write:error=ENOSPC") }
    }

    @Test("A change log that can't be created is retried with backoff, not at every save")
    func paceOfNewLog() throws {
        try AgentProcess.withPlace { place in
            let log = try place.log()
            try LogLocation(log: log).makeDirectory()
            try RawFile.makeDirectory(log)
            let agent = try AgentProcess(place)
            defer { agent.kill() }
            try expectPaceOfLog(agent, nil) { rmdir(log) }
            agent.terminate()
            let lines = agent.complaints().split(separator: "\n")
            #expect(lines.count { $0.contains("change log can't be written") } == 1, "\(lines)")
        }
    }

    @Test("The agent retries by itself after a disk error, and logs the failure and the recovery once each")
    func unasked() throws {
        try withAgent { agent in
            let fault = try AttachedFault(
                agent.pid, at: try Spot.temporary.paths(in: agent.place) + Spot.log.paths(in: agent.place),
                "write,fsync:error=ENOSPC")
            defer { fault.end() }
            let logFault = try agent.defaults("write", Self.domain, "key", "after")
            #expect(logFault.status == 74)
            // The agent retries after 1 s, then after 2 s.
            let end = ContinuousClock.now + .seconds(2)
            repeat { #expect(try agent.status()["errors"] != []) } while ContinuousClock.now < end
            fault.end()
            let isSaved = try eventually(within: 60) {
                try values(agent.place) == Self.after && agent.status()["errors"] == []
            }
            #expect(isSaved)
            agent.terminate()
            let lines = agent.complaints().split(separator: "\n")
            #expect(lines.count { $0.contains("could not be saved") && $0.contains("No space left") } == 1, "\(lines)")
            #expect(lines.count { $0.contains("recovered") } == 1, "\(lines)")
            #expect(lines.count { $0.contains("change log can't be written") } == 1, "\(lines)")
            #expect(lines.count { $0.contains("change log is saved to its file again") } == 1, "\(lines)")
        }
    }

    @Test("The agent retries an unreadable file by itself, and logs the failure and the recovery once each")
    func unaskedReading() throws {
        try withAgent { agent in
            let fault = try AttachedFault(agent.pid, at: Spot.file.paths(in: agent.place), "read,openat:error=EIO")
            defer { fault.end() }
            try RawFile.replace(
                agent.place.path(Self.domain), with: PropertyListValue.dictionary(Self.after).write(as: .xml))
            let isTold = try eventually {
                try agent.defaults("status").output.contains("can't be read: Input/output error")
            }
            #expect(isTold)
            // The agent retries after 1 s.
            let end = ContinuousClock.now + .seconds(2)
            repeat { #expect(try agent.status()["errors"] != []) } while ContinuousClock.now < end
            fault.end()
            let isRead = try eventually(within: 60) { try agent.status()["errors"] == [] }
            #expect(isRead)
            #expect(try agent.defaults("read", Self.domain, "key").output == "after\n")
            agent.terminate()
            let lines = agent.complaints().split(separator: "\n")
            #expect(lines.count { $0.contains("can't be read: Input/output error") } == 1, "\(lines)")
            #expect(lines.count { $0.contains("recovered") } == 1, "\(lines)")
        }
    }

    @Test("A displaced file whose hidden name can't be removed for a while is removed once it can")
    func hiddenName() throws {
        try withAgent { agent in
            let fault = try AttachedFault(
                agent.pid, at: Spot.temporary.paths(in: agent.place), "unlink,unlinkat:error=EACCES")
            defer { fault.end() }
            #expect(try agent.defaults("write", Self.domain, "key", "after").status == 0)
            // The agent checks the displaced file again after a second.
            let end = ContinuousClock.now + .seconds(2)
            repeat { #expect(agent.place.hiddenVersions.count == 1) } while ContinuousClock.now < end
            fault.end()
            #expect(eventually(within: 60) { agent.place.hiddenVersions == [] })
            expectNoLeftovers(agent.place, "")
            #expect(try values(agent.place) == Self.after)
        }
    }

    @Test("The next agent saves an edit that its predecessor couldn't, and reports the recovery to followers")
    func recoveryByTheNext() throws {
        try withAgent { agent in
            let follower = try agent.follow()
            _ = try follower.changes()
            let fault = try AttachedFault(agent.pid, at: Spot.temporary.paths(in: agent.place), "fsync:error=EIO")
            #expect(try agent.defaults("write", Self.domain, "key", "after").status == 74)
            let changes = try follower.changes()
            #expect(changes == ["\(Self.domain): key before>after (app)", "\(Self.domain): unsaved"])
            agent.kill()
            fault.end(afterDeath: true)

            let next = try AgentProcess(agent.place)
            defer { next.kill() }
            let again = try next.follow(.after(follower.cursor)).changes()
            #expect(again == ["\(Self.domain): recovered"])
            #expect(try values(next.place) == Self.after)
        }
    }

    @Test("Files of a directory that can't be listed for a while are found once it can")
    func listing() throws {
        try withAgent { agent in
            let fault = try AttachedFault(agent.pid, at: Spot.directory.paths(in: agent.place), "getdents64:error=EIO")
            defer { fault.end() }
            try agent.shell("cd ..; cp -r p q; echo '{a = 1;}' > q/new.plist; mv p old; mv q p")
            try agent.synchronize()
            #expect(try agent.defaults("read", "new", "a").status == 1)
            #expect(try agent.defaults("read", Self.domain, "key").output == "before\n")
            fault.end()
            // The agent's own retry, after 1 s or 2 s, finds the file.
            let isFound = try eventually(within: 60) { try agent.defaults("read", "new", "a").output == "1\n" }
            #expect(isFound)
            agent.terminate()
            let lines = agent.complaints().split(separator: "\n")
            // The directory is gone for a moment and then can't be listed. Only one warning is logged, about it or
            // about its ByHost directory.
            let directory = "The directory \(agent.place.preferences)"
            #expect(lines.count { $0.contains(" warning ") && $0.contains(directory) } == 1, "\(lines)")
            #expect(lines.count { $0.contains("The directory can be read again") } == 1, "\(lines)")
        }
    }

    @Test("A stale change log that can't be removed gives a follower of the next agent a gap, not a wrong history")
    func staleLog() throws {
        try withAgent { agent in
            let follower = try agent.follow()
            _ = try follower.changes { try agent.defaults("write", Self.domain, "key", "one") }
            let fault = try AttachedFault(
                agent.pid, at: Spot.log.paths(in: agent.place), "write,openat,unlink,unlinkat,ftruncate:error=EROFS")
            let changes = try follower.changes { try agent.defaults("write", Self.domain, "key", "two") }
            #expect(changes == ["\(Self.domain): key one>two (app)"])
            agent.kill()
            fault.end()

            let next = try AgentProcess(agent.place)
            defer { next.kill() }
            try next.defaults("write", Self.domain, "key", "three")
            let again = try next.follow(.after(follower.cursor)).changes()
            #expect(again.first == "gap", "\(again)")
            #expect(try next.defaults("read", Self.domain, "key").output == "three\n")
        }
    }
}
