#if Fleet
import ArgumentParser
import DefaultsClient
import DefaultsCommand
import DefaultsCore
import Fleet
import Glibc
import Linux
import PropertyList

/// `defaults fleet join FOLDER`.
struct Join: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "join",
        abstract: "Make this machine a member of the fleet in a folder.",
        discussion: """
            If no machine has files in the folder, a new fleet begins there, and nothing travels until you add it. So \
            on a second machine, wait until the folder has synced. There, this shows a code, and waits until you type \
            it on a machine of the fleet: `defaults fleet approve CODE`. You may press Ctrl-C, and continue later with \
            the same command. It then waits until the values have arrived that the machine had which approved it.

            Where the fleet and this machine have different values, the fleet's are set, and the others stay in the \
            history; --prefer mine keeps those of this machine and sets them on all others. --review shows the \
            differences first, and asks. Keys that the fleet doesn't have are sent. Then the service defaults-fleet is \
            started, if there is a user manager; otherwise, run `defaults fleet run`.

            EXAMPLES
              defaults fleet join ~/Sync/prefs
              defaults fleet join ~/Sync/prefs --review
            """)

    @Argument(help: "The folder that syncs.", completion: .directory) var folder: String
    @Option(help: "The name that other machines show for this one (default: the host's name).") var name: String?
    @Flag(help: "Show where values differ, and ask before any is set.") var review = false
    @Option(help: "The values that stay where both have one: fleet or mine.") var prefer: Connector.Preference?

    func validate() throws {
        if let name, name.isEmpty || name.utf8.count > 100 {
            throw ValidationError("Use a name of 1 to 100 bytes.")
        }
    }

    func run() throws {
        let home = try FleetHome(environment: .current)
        let place = try FleetPlace(argument: folder)
        let former = try home.membership()
        if let former {
            guard former.place.isSame(as: place) else {
                throw Failure(
                    "This machine is in the fleet in \(former.place.path). Run `defaults fleet leave` first.", .usage)
            }
            if try home.read()?.hasJoined == true {
                print("This machine is already in this fleet.")
                if !home.isLocked { startService() }
                return
            }
        }
        var random = SystemRandomNumberGenerator()
        var membership =
            former
            ?? FleetHome.Membership(
                place: place, machine: .random(using: &random), name: Self.hostName)
        if let name { membership.name = name }
        let joining = membership
        try Member.withLock(home) { try join(joining, in: home) }
        startService()
    }

    static var hostName: String {
        var name = [CChar](repeating: 0, count: 256)
        gethostname(&name, name.count - 1)
        let text = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return text.isEmpty ? "unnamed" : String(text.prefix(60))
    }

    private func join(_ membership: FleetHome.Membership, in home: FleetHome) throws {
        // Nothing is begun that can't be finished.
        let client = try Member.client()
        let folder = membership.place.transport(of: membership.machine)
        try folder.prepare()
        if !folder.isReadableByGroup {
            Failure.report(
                "The group of \(folder.path) can't read this machine's subfolder, since the umask doesn't let it. If "
                    + "the tool that syncs it has a user of its own, see `defaults fleet status`.")
        }
        try home.write(membership)
        if try home.grant() == nil { try home.write(obtainGrant(as: membership, by: folder, in: home)) }
        try home.write(nil as JoinRequest.Pending?)
        try folder.remove(FolderTransport.requestName)
        let scopes = ManifestScopes()
        let member = try Member()
        let connector = try member.connector(of: client, scope: scopes.scope)
        guard !connector.state.hasJoined else {
            // It was interrupted at the end.
            try connector.finish()
            try connector.announce(MachineName(name: membership.name).propertyList)
            return report([], preferring: .fleet, as: membership, isAlone: false)
        }
        try connector.forgetFormerFleet()
        let differences = try awaitFiles(connector, in: home)
        var preference = prefer ?? .fleet
        if review, !differences.isEmpty { preference = try ask(about: differences, preferring: preference) }
        try connector.join(differences, preferring: preference)
        try connector.announce(MachineName(name: membership.name).propertyList)
        report(
            differences, preferring: preference, as: membership, isAlone: connector.state.times.isEmpty)
        for problem in connector.problems.values { Failure.report(problem.report(of: connector.name).message) }
    }

    // MARK: The key

    private func obtainGrant(
        as membership: FleetHome.Membership, by transport: FolderTransport, in home: FleetHome
    ) throws -> FleetGrant {
        let others = try transport.machines().filter { machine in
            // A subfolder that can't be read may have files.
            machine != membership.machine && (try? transport.files(of: machine).isEmpty) != true
        }
        if others.isEmpty, try home.pending() == nil { return FleetGrant(FleetSecret()) }
        let pending = try home.pending() ?? JoinRequest.Pending()
        try home.write(pending)
        let request = JoinRequest(of: membership.machine, named: membership.name, with: pending)
        try transport.add(FolderTransport.requestName, try request.contents())
        print(
            """
            On a machine of the fleet, once the folder has synced there, run:
              defaults fleet approve \(pending.code.text)
            Waiting for the answer. Press Ctrl-C to continue later with the same command. If no machine of the fleet is
            left, run `defaults fleet leave`, and join in an empty folder.
            """)
        fflush(nil)
        while true {
            for machine in try transport.machines() where machine != membership.machine {
                let name = FolderTransport.answerName(for: membership.machine)
                // Others may have put anything there.
                guard let answer = (try? transport.contents(of: name, of: machine)) ?? nil,
                    let grant = request.grant(from: answer, for: pending)
                else { continue }
                return grant
            }
            Backoff.pause(.milliseconds(500))
        }
    }

    // MARK: Values

    /// Waits until everything has arrived that the fleet had when this machine was approved.
    private func awaitFiles(_ connector: Connector, in home: FleetHome) throws -> [Connector.Disagreement] {
        let approver = try home.grant()?.approver
        var isTold = false
        while true {
            let differences = try connector.meet()
            guard let approver, !connector.hasApproval else { return differences }
            if !isTold {
                print(
                    """
                    Waiting for the fleet's values from the machine that approved this one (\(approver)). Its connector
                    must be running. If that machine is lost or was restored from a backup, run `defaults fleet leave
                    --force`, join again, and approve this one on another machine, or once more.
                    """)
                fflush(nil)
                isTold = true
            }
            Backoff.pause(.milliseconds(500))
        }
    }

    private func ask(
        about differences: [Connector.Disagreement], preferring preference: Connector.Preference
    ) throws -> Connector.Preference {
        let conflicts = differences.filter { $0.own != nil }
        for difference in conflicts {
            let own = difference.own.map { ValueText.short($0) } ?? ""
            let fleet = difference.fleet.map { "\(ValueText.short($0)) in the fleet" } ?? "removed in the fleet"
            print("\(difference.key.domain.printable) \(difference.key.key.printable): \(own) here, \(fleet)")
        }
        let new = differences.count - conflicts.count
        if new > 0 { print("The fleet has \(new.counting("value")) that this machine doesn't have.") }
        if conflicts.isEmpty { return preference }
        while true {
            print("Use the fleet's values, keep mine, or stop? [fleet/mine/stop] ", terminator: "")
            fflush(nil)
            switch readLine() {
            case "fleet", "f": return .fleet
            case "mine", "m": return .mine
            case "stop", "s", nil:
                throw Failure("Nothing was changed. To continue, run the same command.", .temporaryFailure)
            default: continue
            }
        }
    }

    private func report(
        _ differences: [Connector.Disagreement], preferring preference: Connector.Preference,
        as membership: FleetHome.Membership, isAlone: Bool
    ) {
        let kept = preference == .mine ? differences.filter { $0.own != nil } : []
        let replaced = differences.count { $0.own != nil } - kept.count
        let new = differences.count { $0.own == nil }
        func were(_ count: Int) -> String { count == 1 ? "was" : "were" }
        let name = membership.name.printable
        let path = membership.place.path.printable
        print(
            isAlone
                ? "\(name) has begun a new fleet in \(path). If it should be in one that exists, run `defaults fleet "
                    + "leave`, and join again once the folder has synced."
                : "\(name) has joined the fleet in \(path).")
        if new > 0 { print("\(new.counting("value")) that this machine didn't have \(were(new)) set.") }
        if replaced > 0 {
            print(
                "\(replaced.counting("value")) of this machine \(were(replaced)) replaced by the fleet's; `defaults "
                    + "log` shows the former ones.")
        }
        if !kept.isEmpty {
            print("\(kept.count.counting("value")) of this machine \(were(kept.count)) kept, and sent to the others.")
        }
    }

    private func startService() {
        if FleetService.isInstalled {
            if FleetService.start() { return print("The service defaults-fleet is running.") }
            Failure.report("The service defaults-fleet can't be started: see `systemctl --user status defaults-fleet`.")
        }
        print("To keep the machines the same from now on, run: defaults fleet run")
    }
}

extension Connector.Preference: ExpressibleByArgument {}
#endif
