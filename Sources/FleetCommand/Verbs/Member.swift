#if Fleet
import DefaultsClient
import DefaultsCommand
import DefaultsCore
import Fleet
import Linux
import PropertyList

/// This machine as a member of a fleet, for the verbs.
struct Member {
    let home: FleetHome
    let membership: FleetHome.Membership
    let secret: FleetSecret
    /// The fleet's folder.
    let folder: FolderTransport

    /// Reads what the machine knows of its fleet.
    ///
    /// - Throws: If it isn't in one.
    init() throws {
        home = try FleetHome(environment: .current)
        guard let membership = try home.membership() else { throw Self.notInFleet }
        guard let secret = try home.grant()?.secret else { throw Self.isJoining(membership) }
        (self.membership, self.secret) = (membership, secret)
        folder = membership.place.transport(of: membership.machine)
    }

    static var notInFleet: Failure {
        Failure("This machine isn't in a fleet. Run `defaults fleet join FOLDER` with a folder that syncs.", .notFound)
    }

    private static func isJoining(_ membership: FleetHome.Membership) -> Failure {
        Failure(
            "This machine hasn't finished joining. To continue, run `defaults fleet join "
                + "\(membership.place.path.quotedForShell)`; to give up, `defaults fleet leave`.", .unavailable)
    }

    /// Returns the connector's state.
    ///
    /// - Throws: If the machine hasn't finished joining.
    func state() throws -> ConnectorState {
        guard let state = try home.read(), state.hasJoined else { throw Self.isJoining(membership) }
        return state
    }

    /// Returns the connector of this machine.
    func connector(
        of client: AgentClient, scope: @escaping (FleetKey) -> TravelRules.Scope
    ) throws -> Connector {
        try Connector(
            membership.machine, following: client,
            by: FileExchange(of: membership.machine, by: folder, with: secret), keepingStateIn: home, scope: scope)
    }

    /// Returns the former identifiers of this machine whose subfolders aren't needed anymore: no other machine has
    /// announced itself under one since, and this machine's newest snapshot has all edits that are in its files.
    ///
    /// A machine that was copied, and hasn't been online since, may still use it.
    func unusedIdentifiers(_ state: ConnectorState, names: [MachineID: MachineName]) throws -> [MachineID] {
        let machines = try folder.machines()
        return state.replica.former.keys.sorted().filter { former in
            // Two machines may have had one identifier, which one of them has marked.
            if state.isInUse(former), names[former]?.hasLeft != true { return false }
            guard machines.contains(former) else { return true }
            // Reception reports a subfolder that can't be read.
            guard let files = try? folder.names(of: former) else { return false }
            return FleetFileName.all(in: files, of: former).allSatisfy(state.files.standsFor)
        }
    }

    /// Connects to the agent.
    static func client() throws -> AgentClient {
        guard let client = try AgentClient(.current) else {
            throw Failure("No agent is running. Start one with `defaultsd`, or log in again.", .unavailable)
        }
        return client
    }

    /// Does something as the one connector of this machine.
    static func withLock(_ home: FleetHome, _ body: () throws -> Void) throws {
        guard let lock = try lock(home) else {
            throw Failure(
                "The fleet's connector is running, or `defaults fleet join` is waiting. Stop it with `systemctl --user "
                    + "stop defaults-fleet`, or where you have started it.", .temporaryFailure)
        }
        let result = Result { try body() }
        // Others may have it now.
        _ = consume lock
        try result.get()
    }

    private static func lock(_ home: FleetHome) throws -> LockFile? {
        // `status` locks the file for a moment, to see whether a connector has it.
        var backoff = Backoff(from: .milliseconds(5), to: .milliseconds(100), timeout: .seconds(1))
        repeat {
            if let lock = try home.lock() { return lock }
        } while backoff.wait()
        return nil
    }

    /// Returns the agent, or else the files, for verbs that only read and edit.
    static func backend() throws -> any Backend {
        let directory = try PreferencesDirectory(environment: .current)
        return try BackendChoice.open(
            directory, at: try AgentAddress(for: directory, environment: .current), environment: .current
        ).backend
    }
}

/// A machine as the others know it.
struct MachineName {
    var name: String
    var hasLeft = false
    /// The time in milliseconds since 1970 at which it was approved, until it has joined.
    var approval: UInt64?

    /// Reads the names of all machines, from the domain that travels.
    static func all(_ backend: any Backend) throws -> [MachineID: MachineName] {
        all(try backend.snapshot(of: Domain(TravelRules.machines)).values)
    }

    static func all(_ values: DomainValues) -> [MachineID: MachineName] {
        var names: [MachineID: MachineName] = [:]
        for (key, value) in values {
            guard let machine = MachineID(key), case .dictionary(let entries) = value else { continue }
            guard case .string(let name)? = entries["Name"] else { continue }
            names[machine] = MachineName(name: name, hasLeft: entries["Left"] == true)
            if case .integer(let time)? = entries["Approved"] { names[machine]?.approval = UInt64(max(0, time)) }
        }
        return names
    }

    var propertyList: PropertyListValue {
        var entries: DomainValues = ["Name": .string(name)]
        if hasLeft { entries["Left"] = true }
        entries["Approved"] = approval.map { .integer(Int64(clamping: $0)) }
        return .dictionary(entries)
    }
}

/// The user service that runs the connector, for the usual preferences directory.
enum FleetService {
    private static let unit = "defaults-fleet.service"

    private static func run(_ arguments: [String]) -> Bool {
        let arguments = ["systemctl", "--user"] + arguments
        return (try? ProgramOutput.run("systemctl", arguments, within: .seconds(20), limit: 1 << 16))?.status == 0
    }

    /// Whether a user manager is running that has the unit.
    static var isInstalled: Bool {
        guard let directory = try? PreferencesDirectory(environment: .current), !directory.isExplicit else {
            return false
        }
        return run(["--quiet", "cat", unit])
    }

    static func start() -> Bool { run(["--quiet", "enable", unit]) && run(["restart", unit]) }

    /// Stops the service; returns whether it was running.
    static func stop() -> Bool { run(["--quiet", "is-active", unit]) && run(["stop", unit]) }

    static func disable() { _ = run(["--quiet", "disable", "--now", unit]) }
}

extension FleetFailure {
    /// A sentence, and what to do.
    var message: String {
        switch self {
        case .isCopied:
            "This machine's state was restored from a backup, or copied to another machine. Run `defaults fleet run`, "
                + "by which it goes on under a new identifier, with all that the folder and other machines have. If it "
                + "hasn't finished joining, run `defaults fleet leave` instead, and join again."
        case .noOwnFiles:
            "The fleet's folder has neither this machine's files nor those of others, as if its disk weren't mounted. "
                + "Edits wait until it is. If the files were deleted, create a directory there that is named by this "
                + "machine's identifier, the one that `defaults fleet status` shows."
        case .notOwnFolder(let path):
            "\(path) isn't a directory of this user's: a link or something else has replaced it. Edits wait until this "
                + "machine's own subfolder is there again. If it is lost, remove what is there, run `defaults fleet "
                + "leave --force`, and join again."
        case .system(let path, let number): "\(path) can't be used: \(SystemCall.message(number))."
        case .notWritten(let path, let number): "\(path) can't be written: \(SystemCall.message(number))."
        }
    }
}
#endif
