#if Fleet
import DefaultsCore
import Fleet
import Glibc
import Linux
import PropertyList

/// The directory in which a machine keeps what belongs to its membership in a fleet, accessible only to the user.
final class FleetHome: FleetStore {
    let path: String

    /// Finds the directory for the preferences directory of the environment.
    init(environment: Environment) throws(DefaultsError) {
        let directory = try PreferencesDirectory(environment: environment)
        guard let path = LogLocation.fleetDirectory(for: directory, environment: environment) else {
            throw DefaultsError(.directory, "The user has no home directory.", remedy: "Set XDG_STATE_HOME.")
        }
        self.path = path
    }

    /// The machine's place in its fleet, as of its joining.
    struct Membership {
        var place: FleetPlace
        var machine: MachineID
        /// The name by which people know the machine.
        var name: String
    }

    /// The machine's membership; `nil` if it isn't a member and hasn't asked to be.
    func membership() throws(DefaultsError) -> Membership? {
        guard let value = try read("member") else { return nil }
        guard case .dictionary(let entries) = value, case .string(let path)? = entries["Folder"],
            case .string(let text)? = entries["Machine"], let machine = MachineID(text),
            case .string(let name)? = entries["Name"]
        else { throw damaged("member") }
        // An interrupted renewal has written the state alone.
        let current = try read()?.replica.machine ?? machine
        return Membership(place: FleetPlace(path: path), machine: current, name: name)
    }

    /// Gives this machine a new identifier, under which it goes on with what its state has; returns that.
    func renew() throws(DefaultsError) -> MachineID {
        guard let state = try read(), var membership = try membership() else { throw damaged("state") }
        var random = SystemRandomNumberGenerator()
        membership.machine = .random(using: &random)
        try write(state.renewed(as: membership.machine))
        try write(membership)
        // The disk is there, since its files have said that this is due. Otherwise, others' files show it later.
        try? membership.place.transport(of: membership.machine).prepare()
        return membership.machine
    }

    func write(_ membership: Membership) throws(DefaultsError) {
        let entries: DomainValues = [
            "Folder": .string(membership.place.path), "Machine": .string(membership.machine.text),
            "Name": .string(membership.name),
        ]
        try write(.dictionary(entries), to: "member")
    }

    /// The fleet's key; `nil` if the machine has none yet.
    func grant() throws(DefaultsError) -> FleetGrant? {
        guard let value = try read("key") else { return nil }
        guard let grant = FleetGrant(value) else { throw damaged("key") }
        return grant
    }

    func write(_ grant: FleetGrant) throws(DefaultsError) { try write(grant.propertyList, to: "key") }

    /// The secrets of the machine's own request; `nil` if it doesn't wait for an answer.
    func pending() throws(DefaultsError) -> JoinRequest.Pending? {
        guard let value = try read("request") else { return nil }
        guard let pending = JoinRequest.Pending(value) else { throw damaged("request") }
        return pending
    }

    func write(_ pending: JoinRequest.Pending?) throws(DefaultsError) {
        if let pending { return try write(pending.propertyList, to: "request") }
        try remove("request")
    }

    func read() throws(DefaultsError) -> ConnectorState? {
        guard let value = try read("state") else { return nil }
        guard let state = ConnectorState(value) else { throw damaged("state") }
        return state
    }

    func write(_ state: ConnectorState) throws(DefaultsError) { try write(state.propertyList, to: "state") }

    /// The sentences about what is wrong, as the running connector sees it.
    func problems() throws(DefaultsError) -> [String] {
        guard case .array(let texts)? = try read("problems") else { return [] }
        return texts.compactMap { if case .string(let text) = $0 { text } else { nil } }
    }

    func write(problems: [String]) throws(DefaultsError) {
        if problems.isEmpty { return try remove("problems") }
        try write(.array(problems.map { .string($0) }), to: "problems")
    }

    /// Tries to get the right to be the connector; `nil` if another process has it.
    func lock() throws(DefaultsError) -> LockFile? {
        do throws(SystemCall.Failure) {
            try makeDirectory()
            return try LogLocation(log: "\(path)/connector").lock()
        } catch { throw DefaultsError(.directory, errno: error.number, "\(path) can't be used") }
    }

    /// Whether a connector is running.
    var isLocked: Bool { LogLocation(log: "\(path)/connector").isLocked }

    /// Forgets the membership.
    func removeAll() throws(DefaultsError) {
        // The membership comes last, so that an interrupted removal can be repeated.
        for name in ["request", "problems", "state", "key", "member"] { try remove(name) }
    }

    // MARK: Files

    private func makeDirectory() throws(SystemCall.Failure) {
        try LogLocation(log: "\(path)/connector").makeDirectory()
    }

    private func read(_ name: String) throws(DefaultsError) -> PropertyListValue? {
        let bytes: [UInt8]
        do throws(SystemCall.Failure) {
            let file = try FileDescriptor(opening: "\(path)/\(name)", O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
            bytes = try file.read(upTo: Int(try file.status().st_size))
        } catch {
            if error.number == ENOENT { return nil }
            throw DefaultsError(.unreadable, errno: error.number, "\(path)/\(name) can't be read")
        }
        guard let value = try? PropertyListValue(parsing: bytes, limits: PropertyListLimits(bytes: 1 << 30)) else {
            throw damaged(name)
        }
        return value
    }

    private func damaged(_ name: String) -> DefaultsError {
        DefaultsError(
            .damaged, "\(path)/\(name) is damaged.",
            remedy: "Run `defaults fleet leave --force`, and join again: preferences stay as they are.")
    }

    /// Replaces a file, and returns when that is durable.
    private func write(_ value: PropertyListValue, to name: String) throws(DefaultsError) {
        let bytes: [UInt8]
        do { bytes = try value.write(as: .binary) } catch {
            throw DefaultsError(.invalidValue, "\(path)/\(name) can't be written: \(error)")
        }
        do throws(SystemCall.Failure) {
            try makeDirectory()
            try NewFile.replace("\(path)/\(name)", with: bytes)
            try FileDescriptor.synchronizeDirectory(path)
        } catch {
            throw DefaultsError(.notSaved, errno: error.number, "\(path)/\(name) can't be written")
        }
    }

    private func remove(_ name: String) throws(DefaultsError) {
        if unlink("\(path)/\(name)") != 0, errno != ENOENT {
            throw DefaultsError(.notSaved, errno: errno, "\(path)/\(name) can't be removed")
        }
    }
}
#endif
