#if Fleet
import ArgumentParser
import DefaultsClient
import DefaultsCommand
import DefaultsCore
import Fleet
import Glibc
import Linux
import PropertyList

/// `defaults fleet receive`.
struct Receive: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "receive",
        abstract: "Receive a service's preferences on this machine.",
        discussion: """
            Sets what operators push to the groups of this machine in the files of the managed and system layers \
            (DEFAULTS_MANAGED_DIRECTORY, and the first of DEFAULTS_SYSTEM_DIRECTORIES), where all programs see it at \
            once, and reports what the machine has. It runs until it is ended, usually as root by a service. While \
            etcd can't be reached, everything stays as it is.

            A key that nobody has pushed stays as it is, and so does one that somebody on the machine has changed, \
            until it is pushed again. After a file was lost or replaced, stop the service, run this with --restore, \
            and start the service: it then sets all keys again that are pushed to the machine.

            EXAMPLES
              defaults fleet receive --credentials /etc/defaultsd/receivers.fleet \\
                --groups web,eu
              defaults fleet receive --groups db --state ~/receiver
            """)

    @OptionGroup var credentials: CredentialsOption
    @Option(help: "The groups of this machine, with commas.") var groups: String?
    @Option(help: "The name that operators see (default: the host's name).") var name: String?
    @Option(help: "The directory of the machine's state.", completion: .directory)
    var state = "/var/lib/defaultsd/receiver"
    @Flag(help: "Mark all pushed keys to be set again at the next start, also those changed on this machine, and exit.")
    var restore = false

    func validate() throws {
        if state.isEmpty { throw ValidationError("Name a directory with --state.") }
        if name?.isEmpty == true { throw ValidationError("Name the machine with --name, or leave it out.") }
    }

    func run() throws {
        let groups = try groups.flatMap { $0.isEmpty ? nil : try GroupNames.parse($0) } ?? []
        let place = ReceiverPlace(Path.resolved(Environment.current.expandingTilde(state)))
        if restore, Path.isMissing("\(place.path)/state") {
            throw Failure("\(place.path) isn't the state of a machine. Name it with --state.", .noInput)
        }
        guard let lock = try place.lock() else {
            throw Failure(
                "Another `defaults fleet receive` is running with \(place.path). Stop it first.", .temporaryFailure)
        }
        if restore {
            var state = try place.read()
            state.restore()
            try place.write(state)
            print("The next `defaults fleet receive` sets all keys again that are pushed to this machine.")
        } else {
            try follow(place, groups)
        }
        _ = consume lock
    }

    /// The time between comparisons, and between reports, in milliseconds.
    private static let interval: Int64 = 600_000
    /// The time after which a difference is looked at again, and after which what couldn't be set is tried again.
    private static let retryInterval: Int64 = 30_000
    /// The interval at which files are checked for local changes, in milliseconds.
    private static let checkInterval: Int64 = 5_000
    /// The shortest time between a report and one of local changes, in milliseconds.
    private static let pause: Int64 = 10_000

    private func follow(_ place: ReceiverPlace, _ groups: [String]) throws {
        let files = try LayerFiles(Environment.current)
        // What is wrong from the beginning stays so.
        _ = try FleetCredentials(option: credentials.credentials, as: .receiver)
        var reporter = ReceiverReporter()
        let name = name ?? Join.hostName
        let delays = RetryDelay(first: .milliseconds(250), limit: .seconds(30))
        var failures = 0
        var isAnnounced = false
        while true {
            do {
                // A new file may have a new certificate.
                let credentials = try FleetCredentials(option: credentials.credentials, as: .receiver)
                let client = try RegisterEngines.require().client(with: credentials)
                let receiver = Receiver(
                    try place.read(), in: groups, following: client, with: credentials.secret, setting: files,
                    keepingStateIn: place)
                try receiver.connect()
                if !isAnnounced {
                    let purpose = Set(groups + [PushedEntry.everyone]).sorted().joined(separator: ", ")
                    Failure.report("\(name) receives what is pushed to \(purpose), in \(files.text).")
                    isAnnounced = true
                }
                var nextExamination = MonotonicTime.now() + 2_000
                var nextRetry: MonotonicTime?
                var nextReport = MonotonicTime.now()
                var nextCheck = MonotonicTime.now() + Self.checkInterval
                var lastReport = MonotonicTime(milliseconds: 0)
                while true {
                    reporter.update(receiver)
                    let next = min(nextExamination, nextReport, nextRetry ?? .distantFuture, nextCheck)
                    let outcome = try receiver.follow(within: next.millisecondsLeft)
                    if outcome == .gap { reporter.reportGap() }
                    if outcome != .nothing { failures = 0 }
                    if outcome == .changes || outcome == .gap {
                        // A thousand machines don't report in the same moment.
                        nextReport = min(nextReport, .now() + Int64.random(in: 0...500))
                    }
                    if nextExamination <= .now() {
                        let outcome = try receiver.examine()
                        failures = 0
                        if outcome == .gap { reporter.reportGap() }
                        nextExamination = .now() + (outcome == .changes ? Self.retryInterval : Self.interval)
                    }
                    if let time = nextRetry, time <= .now() {
                        try receiver.apply()
                        nextRetry = nil
                        if receiver.hasNews() { nextReport = .now() }
                    }
                    if nextCheck <= .now() {
                        if receiver.checkFiles() { nextReport = min(nextReport, max(.now(), lastReport + Self.pause)) }
                        nextCheck = .now() + Self.checkInterval
                    }
                    nextRetry = receiver.problems.isEmpty ? nil : nextRetry ?? .now() + Self.retryInterval
                    if nextReport <= .now() {
                        try receiver.sendReport(named: name, version: Version.current, at: Timestamp.now().milliseconds)
                        lastReport = .now()
                        nextReport = lastReport + Self.interval
                    }
                }
            } catch let failure as RegisterFailure {
                reporter.update(failure)
            } catch let error as DefaultsError {
                reporter.update("\(error)")
            } catch let failure as Failure {
                // Somebody may be replacing the file right now.
                reporter.update(failure.message)
            }
            // After a member has ended, its thousand machines don't come to the next one in the same moment.
            Backoff.pause(delays.after(failures).jittered)
            failures += 1
        }
    }
}

/// The problems of a receiver, and what becomes of them; each is reported once.
private struct ReceiverReporter {
    private var problems: Set<ReceiverReport.Problem> = []
    private var unreadable = 0
    private var failure: String?
    private var unreachableSince: MonotonicTime?
    private var isUnreachableReported = false

    /// The time after which it is reported that no member can be reached, in milliseconds.
    private static let delay: Int64 = 10_000

    mutating func update(_ receiver: Receiver) {
        if failure != nil { Failure.report("Receiving again.") }
        (unreachableSince, isUnreachableReported, failure) = (nil, false, nil)
        let reason = "changed on this machine, and stays so until it is pushed again."
        let current = Set(receiver.problems + receiver.changed.map { ReceiverReport.Problem(key: $0, reason: reason) })
        for text in ProblemText.all(current.subtracting(problems)) { Failure.report("\(text.keys): \(text.reason)") }
        for text in ProblemText.all(problems.subtracting(current)) {
            Failure.report("No longer: \(text.keys): \(text.reason)")
        }
        problems = current
        if receiver.unreadable != unreadable {
            unreadable = receiver.unreadable
            let count = unreadable.counting("entry", plural: "entries")
            Failure.report(
                unreadable == 0
                    ? "All entries can be read again."
                    : "\(count) can't be read: a later version has written them, or they aren't this fleet's.")
        }
    }

    mutating func update(_ failure: RegisterFailure) {
        let since = unreachableSince ?? .now()
        unreachableSince = since
        if failure.endsByItself, since + Self.delay > .now() || isUnreachableReported { return }
        isUnreachableReported = failure.endsByItself
        update(failure.failure.message)
    }

    mutating func update(_ text: String) {
        if text != failure { Failure.report(text) }
        failure = text
    }

    func reportGap() {
        Failure.report("Some changes arrived late: etcd didn't report them, or had already compacted them.")
    }
}

/// The directory with a receiver's state.
private final class ReceiverPlace: ReceiverStore {
    let path: String

    init(_ path: String) { self.path = path }

    func lock() throws(DefaultsError) -> LockFile? {
        do throws(SystemCall.Failure) {
            try LogLocation(log: "\(path)/receiver").makeDirectory()
            return try LogLocation(log: "\(path)/receiver").lock()
        } catch {
            throw DefaultsError(
                .directory, errno: error.number, "\(path) can't be used", remedy: "Run as root, or use --state.")
        }
    }

    /// Reads the state, or creates that of a new machine.
    func read() throws -> ReceiverState {
        let bytes: [UInt8]
        do throws(SystemCall.Failure) {
            let file = try FileDescriptor(opening: "\(path)/state", O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
            bytes = try file.read(upTo: Int(try file.status().st_size))
        } catch {
            guard error.number == ENOENT else {
                throw DefaultsError(.unreadable, errno: error.number, "\(path)/state can't be read")
            }
            var random = SystemRandomNumberGenerator()
            let state = ReceiverState(.random(using: &random))
            try write(state)
            return state
        }
        guard let value = try? PropertyListValue(parsing: bytes, limits: PropertyListLimits(bytes: 1 << 30)),
            let state = ReceiverState(value)
        else {
            throw DefaultsError(
                .damaged, "\(path)/state is damaged.",
                remedy: "Remove it: the machine gets a new identifier, and keys that are no longer pushed stay.")
        }
        return state
    }

    func write(_ state: ReceiverState) throws(DefaultsError) {
        let bytes: [UInt8]
        do { bytes = try state.propertyList.write(as: .binary) } catch {
            throw DefaultsError(.invalidValue, "\(path)/state can't be written: \(error)")
        }
        do throws(SystemCall.Failure) {
            try NewFile.replace("\(path)/state", with: bytes)
            try FileDescriptor.synchronizeDirectory(path)
        } catch { throw DefaultsError(.notSaved, errno: error.number, "\(path)/state can't be written") }
    }
}

/// The files of this machine's layers.
private final class LayerFiles: ReceiverFiles {
    private let directories: [PushedLayer: String]

    init(_ environment: Environment) throws {
        let system = SystemDirectories(environment: environment)
        guard let managed = system.managed, let anyUser = system.anyUser.first else {
            throw Failure(
                "There is no directory for the managed and the system layer. Set DEFAULTS_MANAGED_DIRECTORY and "
                    + "DEFAULTS_SYSTEM_DIRECTORIES to absolute paths.", .usage)
        }
        directories = [.managed: managed, .system: anyUser]
    }

    /// The directories, for people.
    var text: String { PushedLayer.allCases.compactMap { directories[$0] }.joined(separator: " and ") }

    /// Returns a store of a layer's files, each of which is then a user's own.
    ///
    /// It lasts for one use, so that it holds nothing in memory.
    private func store(of layer: PushedLayer) throws(DefaultsError) -> EmbeddedStore {
        guard let path = directories[layer] else { throw DefaultsError(.directory, "There is no such layer.") }
        return EmbeddedStore(PreferencesDirectory(path: path), system: .none, mayReplaceDamage: false)
    }

    func values(of domain: DomainName, in layer: PushedLayer) throws(DefaultsError) -> DomainValues {
        let snapshot = try store(of: layer).snapshot(of: Domain(domain), keys: nil)
        if let damage = snapshot.damage { throw DefaultsError(.damaged, "\(damage)") }
        if let problem = ignored(domain, in: layer) { throw problem }
        return snapshot.values
    }

    /// Returns why programs ignore a file, if they do.
    private func ignored(_ domain: DomainName, in layer: PushedLayer) -> DefaultsError? {
        guard layer == .managed, let directory = directories[layer] else { return nil }
        let path = PreferencesDirectory(path: directory).path(of: Domain(domain))
        do throws(SystemCall.Failure) {
            return try RootOwnership.problem(ofFileAt: path, with: FileStatus(at: path), below: directory)
        } catch {
            return error.number == ENOENT
                ? nil : DefaultsError(.unreadable, errno: error.number, "\(path) can't be examined")
        }
    }

    func version(of domain: DomainName, in layer: PushedLayer) -> String {
        let directory = directories[layer] ?? ""
        do throws(SystemCall.Failure) {
            let status = try FileStatus(at: PreferencesDirectory(path: directory).path(of: Domain(domain)))
            // Whether programs ignore the file depends on who may write to its directory.
            let parent = try FileStatus(at: directory)
            return "\(status.st_dev) \(status.st_ino) \(status.st_size) \(status.st_mtim) \(status.st_ctim) "
                + "\(parent.st_uid) \(parent.st_mode)"
        } catch {
            return "\(error.number)"
        }
    }

    func set(_ values: Difference, of domain: DomainName, in layer: PushedLayer) throws(DefaultsError) {
        let store = try store(of: layer)
        if let directory = directories[layer] {
            do throws(SystemCall.Failure) { try Self.makeDirectory(directory) } catch {
                throw DefaultsError(.directory, errno: error.number, "\(directory) can't be made")
            }
        }
        try store.edit(Domain(domain), with: values, replacesAll: false)
        try store.synchronize(Domain(domain))
    }

    private static func makeDirectory(_ path: String) throws(SystemCall.Failure) {
        if !Path.isMissing(path) { return }
        let parent = Path.directory(of: path)
        if parent != path { try makeDirectory(parent) }
        try NewFile.makeDirectory(path)
        // Everybody reads what applies to everybody.
        if getuid() == 0 { chmod(path, 0o755) }
    }
}
#endif
