#if Fleet
import ArgumentParser
import DefaultsClient
import DefaultsCommand
import DefaultsCore
import Fleet
import Linux
import PropertyList

/// `defaults fleet status [DOMAIN]`.
struct Status: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show the fleet's machines, or which keys of a domain travel.",
        discussion: """
            Shows this machine, the others with what has been received from them, what waits, and what is wrong. With \
            a domain, lists its keys, and for each that is held back, the rule that holds it.

            --json prints one object. It has "machine", "name", "folder", "running" (whether the connector runs), \
            "waiting" (the number of values to be set), "travelling" (of keys), "added" (the list), "held" (what is \
            held back of it), "requests" (of machines that are asking to join), "problems" and "machines", objects \
            with "machine", "name", "left" (true if it has left), "newest" (the time of its newest edit, in seconds \
            since 1970), "received", "unread" (the number of its files that haven't been read) and "ahead" (the \
            seconds by which that edit is dated in the future). With a domain, it prints an object for each key, one a \
            line: "domain", "key", "travels", and if that is false, "rule" and "reason".

            EXAMPLES
              defaults fleet status
              defaults fleet status org.example.editor
              defaults fleet status --json | jq .machines
            """)

    @Flag(help: "Print JSON.") var json = false
    @Argument(help: "The domain whose keys to list.") var domain: String?

    func run() throws {
        let member = try Member()
        let backend = try Member.backend()
        if let domain { return try list(domain, from: backend) }
        let overview = try Overview(member, from: backend)
        print(json ? JSONText.of(overview.propertyList) : overview.text)
    }

    private func list(_ domain: String, from backend: any Backend) throws {
        let held = try HeldBackKeys(backend)
        var domains = [domain]
        if GlobPattern(domain).hasWildcards {
            domains = try held.domains().filter { GlobPattern(domain).matches($0) }
        } else {
            domains = [try DomainName(domain).description]
        }
        let keys = try domains.flatMap { domain in
            try held.keys(of: domain).map { (FleetKey(domain, $0.key), $0.reason) }
        }
        guard !keys.isEmpty else { throw Failure("No domain \(domain) has keys.", .notFound) }
        let names = keys.map { (domains.count > 1 ? "\($0.0.domain) \($0.0.key)" : $0.0.key).printable }
        let width = names.map(\.count).max() ?? 0
        for (name, (key, reason)) in zip(names, keys) {
            if json {
                print(JSONText.of(HeldBackKeys.propertyList(key, reason: reason)))
            } else {
                print("\(name.padded(to: width))  \(reason.map { "held back: \($0.sentence)" } ?? "travels")")
            }
        }
        if !json, keys.contains(where: { key in key.1 != nil && key.1 != .notAdded }) {
            print("A key that you name travels nevertheless: defaults fleet add \(domain.quotedForShell) KEY")
        }
    }
}

/// The keys of domains, with the rules that hold them back on this machine.
struct HeldBackKeys {
    private let rules: TravelRules
    private let manifests = ManifestScopes()
    private let state: ConnectorState
    private let backend: any Backend

    init(_ backend: any Backend) throws {
        self.backend = backend
        state = try Member().state()
        rules = TravelRules(state.list(with: try backend.snapshot(of: Domain(TravelRules.list)).values))
    }

    /// The names of the user's domains.
    func domains() throws -> [String] {
        try backend.domains().filter { $0.user == .current && $0.host == .any }.map(\.name.description)
    }

    /// The keys of the domains that were added which are held back, in order.
    func all() throws -> [PropertyListValue] {
        try domains().filter { rules.includes($0) && !TravelRules.isOwn($0) }.flatMap { domain in
            try keys(of: domain).filter { $0.reason != nil }.map {
                Self.propertyList(FleetKey(domain, $0.key), reason: $0.reason)
            }
        }
    }

    func reason(against key: FleetKey) -> TravelRules.Reason? {
        rules.reason(against: key, scope: manifests.scope(of: key), changes: state.counts[key])
    }

    static func propertyList(_ key: FleetKey, reason: TravelRules.Reason?) -> PropertyListValue {
        var entries: DomainValues = [
            "domain": .string(key.domain), "key": .string(key.key), "travels": .boolean(reason == nil),
        ]
        entries["rule"] = reason.map { .string($0.name) }
        entries["reason"] = reason.map { .string($0.sentence) }
        return .dictionary(entries)
    }

    /// The keys that a domain has here or in the fleet, in order.
    func keys(of domain: String) throws -> [(key: String, reason: TravelRules.Reason?)] {
        let values = try backend.snapshot(of: Domain(try DomainName(domain))).values
        let waiting = state.replica.unconfirmed.keys.filter { $0.domain == domain }.map(\.key)
        return Set(values.keys).union(waiting).sorted().map { name in
            (name, reason(against: FleetKey(domain, name)))
        }
    }
}

extension TravelRules.Reason {
    /// A stable name for programs.
    var name: String {
        switch self {
        case .notAdded: "not-added"
        case .excepted: "excepted"
        case .noise: "noise"
        case .identity: "identity"
        case .ofMachine: "machine"
        case .remembered: "remembered"
        case .secret: "secret"
        case .unknown: "unreadable-manifest"
        case .busy: "busy"
        }
    }

    /// The reason, after "held back:".
    var sentence: String {
        switch self {
        case .notAdded: "nobody has added it"
        case .excepted(let pattern): "\"\(pattern.printable)\" was excepted"
        case .noise(let word): "it looks like something that an app remembers (\"\(word)\")"
        case .identity(let word): "it looks like a machine's identity or a secret (\"\(word)\")"
        case .ofMachine: "its manifest says that it belongs to each machine"
        case .remembered: "its manifest says that it is something that the app remembers"
        case .secret: "its manifest says that it is secret"
        case .unknown: "its manifest can't be read, so it may be secret"
        case .busy(let count): "it has changed \(count) times today; its last value is sent after midnight UTC"
        }
    }
}

/// The contents of `defaults fleet status`.
struct Overview {
    private struct Machine {
        var id: MachineID
        var name: MachineName?
        var newest: UInt64?
        var received: UInt64?
        var unread: Int
        /// The number of seconds by which its clock seems to be ahead.
        var ahead: UInt64
    }

    private let member: Member
    private let isRunning: Bool
    private let waiting: Int
    private let travelling: Int
    private let added: DomainValues
    private let held: [PropertyListValue]
    private let requests: [JoinRequest]
    private var machines: [Machine] = []
    private var problems: [String] = []

    init(_ member: Member, from backend: any Backend) throws {
        self.member = member
        let state = try member.state()
        isRunning = member.home.isLocked
        added = state.list(with: try backend.snapshot(of: Domain(TravelRules.list)).values)
        let keys = try HeldBackKeys(backend)
        held = try keys.all()
        func travels(_ key: FleetKey) -> Bool { !TravelRules.isOwn(key.domain) && keys.reason(against: key) == nil }
        waiting = state.replica.unconfirmed.keys.count(where: travels)
        travelling = state.replica.newest.keys.count(where: travels)
        let names = try MachineName.all(backend)
        problems = try member.home.problems()
        if !isRunning { problems.insert("The connector isn't running: start it with `defaults fleet run`.", at: 0) }
        var found: [MachineID] = []
        do { found = try member.folder.machines() } catch let failure as FleetFailure {
            problems.append(failure.message)
        }
        if !member.folder.isReadableByGroup {
            let subfolder = "\(member.folder.path)/\(member.membership.machine)".quotedForShell
            problems.append(
                "The group of \(member.folder.path) can't read this machine's files. If the tool that syncs them has a "
                    + "user of its own, run `chmod -R g+rX \(subfolder)`, and set a umask such as 027 for the "
                    + "connector, or a default access control list on the folder.")
        }
        requests = found.filter { names[$0] == nil }.compactMap { member.request(of: $0) }
        let now = Timestamp.now().milliseconds
        let received = state.files.vector
        for id in Set(found).union(names.keys).union(state.times.keys).sorted() where id != member.membership.machine {
            let unread = FleetFileName.all(in: (try? member.folder.names(of: id)) ?? [], of: id).count { name in
                received[id]?.numbers.contains(name.first...name.last) != true
            }
            let times = state.times[id]
            // It only waits for its approval, or has given up.
            if unread == 0, times == nil, names[id] == nil { continue }
            if unread == 0, times == nil, names[id]?.approval != nil, member.request(of: id) == nil { continue }
            let ahead = times.map { $0.newest > max(now, $0.received) ? $0.newest - max(now, $0.received) : 0 } ?? 0
            machines.append(
                Machine(
                    id: id, name: names[id], newest: times?.newest, received: times?.received, unread: unread,
                    ahead: ahead > Stamp.tolerance ? ahead / 1_000 : 0))
        }
        // If the folder can't be read, that is said already.
        let unused = (try? member.unusedIdentifiers(state, names: names)) ?? []
        for former in state.replica.former.keys.sorted() where found.contains(former) {
            problems.append(
                "This machine's state was restored from a backup or copied, so that it goes on under a new identifier. "
                    + "No edit is lost that the folder or another machine has. "
                    + (unused.contains(former)
                        ? "If no other machine is its copy, you may remove the subfolder \(former): this machine's "
                            + "snapshot has what is in it."
                        : "The subfolder \(former) is still needed."))
        }
        let unreadable = TravelRules(added).unreadable.map(\.quotedForShell)
        if !unreadable.isEmpty {
            problems.append(
                "The list of what travels has entries of another version, which add nothing: "
                    + "\(unreadable.joined(separator: ", ")). Upgrade defaultsd if that is a later one. Otherwise, "
                    + "replace each with `defaults fleet add`, or remove it with `defaults delete "
                    + "\(TravelRules.list)`.")
        }
        for machine in machines where machine.ahead > 0 {
            let name = machine.name?.name ?? machine.id.text
            problems.append(
                "An edit of \(name) is dated \(machine.ahead) s in the future. Until then, it "
                    + "overrides edits that were made without knowledge of it. Check that machine's clock.")
        }
    }

    var text: String {
        let membership = member.membership
        var lines = [
            "\(membership.name) (\(membership.machine)) is in the fleet in \(membership.place.path).",
            "\(travelling.counting("key")) travel\(travelling == 1 ? "s" : "").",
        ]
        if waiting > 0 {
            lines.append("\(waiting.counting("value")) \(waiting == 1 ? "is" : "are") waiting to be set.")
        }
        let names = added.filter { $1 == true }.keys.sorted().joined(separator: ", ")
        lines.append(
            names.isEmpty ? "Nothing has been added yet: see `defaults fleet add --help`." : "Added: \(names).")
        for machine in machines {
            let left =
                machine.name?.hasLeft == true
                ? " has left" : machine.name?.approval != nil && machine.received == nil ? " is joining" : ""
            let name = "\(machine.name?.name ?? "An unknown machine")\(left)"
            let newest = machine.newest.flatMap { $0 > 1 ? "newest edit \(Self.text($0))" : nil } ?? "no edit yet"
            let unread = machine.unread > 0 ? ", \(machine.unread.counting("file")) not read yet" : ""
            lines.append("\(name) (\(machine.id)): \(newest)\(unread)")
        }
        for request in requests {
            lines.append(
                "\(request.name) (\(request.machine)) is asking to join: run `defaults fleet approve` with its code.")
        }
        if !held.isEmpty {
            lines.append("\(held.count.counting("key")) held back: `defaults fleet status DOMAIN` explains why.")
        }
        return (lines + problems).map(\.printable).joined(separator: "\n")
    }

    private static func text(_ milliseconds: UInt64) -> String {
        ChangeText.moment(Timestamp(milliseconds: milliseconds))
    }

    var propertyList: PropertyListValue {
        func time(_ milliseconds: UInt64?) -> PropertyListValue? {
            milliseconds.flatMap { $0 > 1 ? .integer(Int64($0 / 1_000)) : nil }
        }
        let entries: DomainValues = [
            "folder": .string(member.membership.place.path),
            "machine": .string(member.membership.machine.text), "name": .string(member.membership.name),
            "running": .boolean(isRunning),
            "waiting": .integer(Int64(waiting)), "travelling": .integer(Int64(travelling)),
            "added": .dictionary(added), "held": .array(held), "problems": .array(problems.map { .string($0) }),
            "requests": .array(
                requests.map { ["machine": .string($0.machine.text), "name": .string($0.name)] }),
            "machines": .array(
                machines.map { machine in
                    var entries: DomainValues = [
                        "machine": .string(machine.id.text), "unread": .integer(Int64(machine.unread)),
                        "ahead": .integer(Int64(machine.ahead)),
                    ]
                    entries["name"] = machine.name.map { .string($0.name) }
                    entries["left"] = machine.name?.hasLeft == true ? true : nil
                    entries["newest"] = time(machine.newest)
                    entries["received"] = time(machine.received)
                    return .dictionary(entries)
                }),
        ]
        return .dictionary(entries)
    }
}

extension ConnectorState {
    /// Returns the list of what travels: while its file is away, the one that is still in force.
    func list(with stored: DomainValues) -> DomainValues {
        (away[TravelRules.list.description]?.isSettled == false ? list : [:]).merging(stored) { $1 }
    }
}

extension Member {
    /// The request of a machine that wants to join; `nil` if it has made none.
    func request(of machine: MachineID) -> JoinRequest? {
        guard machine != membership.machine,
            let bytes = (try? folder.contents(of: FolderTransport.requestName, of: machine)) ?? nil
        else { return nil }
        return JoinRequest(bytes, of: machine)
    }
}
#endif
