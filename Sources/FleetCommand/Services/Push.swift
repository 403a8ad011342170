#if Fleet
import ArgumentParser
import DefaultsCommand
import DefaultsCore
import Fleet
import Glibc
import PropertyList

/// `defaults fleet push DOMAIN KEY VALUE`.
struct Push: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "push",
        abstract: "Set keys on all machines of a service, or on some of them first.",
        usage: """
            defaults fleet push --to <group>[,<group>…] [<options>] <domain> <key> <value>
            defaults fleet push --to <group> [<options>] <domain> '{key = value;}'
            defaults fleet push --to <group> --delete [<options>] <domain> <key>…
            """,
        discussion: """
            Sets keys in the files of the managed layer, or with --layer system, in those of the system layer, on the \
            machines that run `defaults fleet receive` for a group. Running programs follow at once. A value is \
            written as for `defaults write`; a dictionary sets several keys together. In '{a = 1;}', 1 is a string, \
            and an integer in '{a = <*I1>;}'. The domain NSGlobalDomain is the global one.

            With --canary, only so many of the machines get it, such as 5% or 3; `defaults fleet rollout NUMBER \
            --share all` gives it to the others, and --undo sets the former values again. --dry-run shows what would \
            change, and changes nothing. --json prints an object as `defaults fleet rollout --json` does, with the \
            "name" and the identifier ("machine") of each machine that gets it now.

            The exit status is 1 for a group or a key that doesn't exist, 69 if etcd can't be reached or refuses the \
            request, and 75 if another rollout must be ended first or the push may be only partly written.

            EXAMPLES
              defaults fleet push --to web org.example.web Workers -int 8
              defaults fleet push --to web,db --canary 5% org.example.web Mode fast
              defaults fleet push --to web --dry-run org.example.web '{a = 1; b = 2;}'
              defaults fleet push --to all --delete org.example.web Workers
            """)

    @OptionGroup var credentials: CredentialsOption
    @Option(name: .customLong("to"), help: "The groups of machines, with commas; \"all\" is every machine.")
    var groups: String
    @Option(
        help: "The machines that get it first: a percentage such as 5%, or a number.",
        transform: MachineShare.init(reading:))
    var canary: MachineShare?
    @Option(help: "The layer: managed (values are forced) or system (users may replace them).")
    var layer = PushedLayer.managed
    @Flag(help: "Remove the keys.") var delete = false
    @Flag(help: "Push to a group in which no machine has reported yet.") var ahead = false
    @Flag(help: "Show what would change, and change nothing.") var dryRun = false
    @Flag(help: "Print JSON.") var json = false
    @Argument(help: "The domain.") var domain: String
    @Argument(parsing: .captureForPassthrough, help: "The key and its value.") var operands: [String] = []

    func run() throws {
        let groups = try GroupNames.parse(groups)
        let values = try values()
        let desk = try OperatorDesk(credentials)
        let all = try desk.receivers(in: groups, mayBeUnknown: ahead)
        // A machine that is gone can't show whether a value is good.
        let machines = all.filter { !OperatorDesk.isSilent($0) }
        let count = try canary.flatMap { try $0.count(of: machines.count, in: groups) }
        func share(_ rollout: Int64) -> Share {
            count.map { Share(of: $0, among: machines.map(\.machine), in: rollout) } ?? .all
        }
        let now = Timestamp.now().milliseconds
        let rollout = try desk.run {
            try dryRun
                ? $0.plan(values, to: groups, at: now, choosing: share)
                : $0.push(values, to: groups, at: now, choosing: share) { rollout in
                    Failure.report(
                        "Writing rollout \(rollout.number) in parts. If this is interrupted, run `defaults fleet "
                            + "rollout \(rollout.number) --undo`.")
                }
        }
        let included = machines.filter { rollout.share.includes($0.machine, in: rollout.number) }
        if json { return print(JSONText.of(RolloutText.propertyList(rollout, for: included))) }
        for line in RolloutText.lines(rollout.changes) { print(line) }
        if all.count > machines.count {
            print("Silent for an hour, and not counted: \((all.count - machines.count).counting("machine")).")
        }
        if dryRun {
            print("This would be for \(included.count) of \(machines.count.counting("machine")) now.")
            for machine in included.prefix(20) { print("  \(machine.name.printable)") }
            if included.count > 20 { print("  and \(included.count - 20) more; --json lists all") }
        } else {
            print(
                "Rollout \(rollout.number) is for \(included.count) of \(machines.count.counting("machine")). See "
                    + "which have it: defaults fleet rollout \(rollout.number)")
        }
    }

    private func values() throws -> [PushedKey: PropertyListValue?] {
        let name = try DomainName(domain).description
        func key(_ text: String) -> PushedKey { PushedKey(text, of: name, in: layer) }
        // A misplaced --delete mustn't become a key on all machines.
        if let option = operands.first(where: { $0.hasPrefix("--") }), delete || option == operands.first {
            throw Failure(
                "Put \(option.printable) before the domain if it is an option; set a key of this name in a dictionary.",
                .usage)
        }
        if delete {
            guard !operands.isEmpty else { throw Failure("Name the keys to remove.", .usage) }
            return Dictionary(operands.map { (key($0), nil) }) { $1 }
        }
        var values: [PushedKey: PropertyListValue?] = [:]
        switch try WriteOperands(operands, reading: .literal) {
        case .all(let all): for (name, value) in all { values[key(name)] = .some(value) }
        case .key(let name, .set(let value)): values[key(name.text)] = .some(value)
        case .key:
            throw Failure("A push sets whole values. Use -array, -dict or -int instead.", .usage)
        }
        if values.isEmpty { throw Failure("The dictionary has no keys.", .usage) }
        if values.keys.contains(where: { $0.key.isEmpty }) { throw Failure("A key has no name.", .usage) }
        let target = Domain(try DomainName(domain))
        for (key, value) in values { try EditRequest.check(key.key, with: value, for: target) }
        return values
    }
}

extension PushedLayer: ExpressibleByArgument {}

/// A number of machines: a percentage, or a count.
enum MachineShare {
    case all
    case percent(Double)
    case count(Int)

    init(reading text: String) throws {
        if text == "all" {
            self = .all
        } else if text.hasSuffix("%"), let percent = Double(text.dropLast()), percent > 0, percent <= 100 {
            self = percent == 100 ? .all : .percent(percent)
        } else if let count = Int(text), count > 0 {
            self = .count(count)
        } else {
            throw ValidationError("Use a percentage (up to 100%), a number of machines (1 or more), or all.")
        }
    }

    /// Returns how many machines it is of those of some groups that have reported in the last hour, at least one;
    /// `nil` for all, also those that come later.
    func count(of machines: Int, in groups: [String]) throws(Failure) -> Int? {
        if case .all = self { return nil }
        guard machines > 0 else {
            throw Failure("No machine of \(groups.joined(separator: ", ")) has reported in the last hour.", .notFound)
        }
        switch self {
        case .all: return nil
        case .percent(let percent): return min(machines, Int((Double(machines) * percent / 100).rounded(.up)))
        case .count(let count):
            guard count <= machines else {
                throw Failure(
                    "Only \(machines.counting("machine")) of \(groups.joined(separator: ", ")) reported in the last "
                        + "hour. Use a smaller number, or all.", .usage)
            }
            return count
        }
    }
}

/// The names of groups of machines.
enum GroupNames {
    static func parse(_ text: String) throws(Failure) -> [String] {
        let names = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        let areValid = names.allSatisfy { name in
            (1...60).contains(name.utf8.count)
                && name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-_.".contains($0)) }
        }
        guard areValid else {
            throw Failure("\"\(text.printable)\" isn't a list of groups. Use names such as web,eu.", .usage)
        }
        return Set(names).sorted()
    }
}

/// The option with the fleet's credentials.
struct CredentialsOption: ParsableArguments {
    @Option(help: "The file with the fleet's credentials, instead of DEFAULTS_FLEET_CREDENTIALS.", completion: .file())
    var credentials: String?
}

/// The work of an operator with a fleet, and its failures as sentences.
struct OperatorDesk {
    private let `operator`: Operator

    init(_ option: CredentialsOption) throws {
        let credentials = try FleetCredentials(option: option.credentials, as: .operator)
        let user = getpwuid(getuid()).flatMap { $0.pointee.pw_name }.map { String(cString: $0) } ?? "\(getuid())"
        `operator` = Operator(
            try RegisterEngines.require().client(with: credentials), with: credentials.secret,
            as: "\(user)@\(Join.hostName)")
    }

    func run<Result>(_ body: (Operator) throws -> Result) throws -> Result {
        do { return try body(`operator`) } catch let failure as OperatorFailure {
            throw failure.failure
        } catch let failure as RegisterFailure {
            throw failure.failure
        }
    }

    /// The time after which a machine counts as silent, in milliseconds; machines report every ten minutes.
    static let silence: UInt64 = 3_600_000

    static func isSilent(_ report: ReceiverReport) -> Bool {
        report.milliseconds + silence < Timestamp.now().milliseconds
    }

    /// Removes the report of a machine, by its name or identifier.
    func forget(_ machine: String) throws {
        let found = try run { try $0.receivers() }.filter { $0.name == machine || $0.machine.text == machine }
        guard let report = found.first else {
            throw Failure("No machine \"\(machine)\" has reported. See `defaults fleet rollout --machines`.", .notFound)
        }
        guard found.count == 1 else {
            let identifiers = found.map(\.machine.text).joined(separator: ", ")
            throw Failure("Several machines have this name. Use one of these identifiers: \(identifiers).", .usage)
        }
        try run { try $0.forget(report.machine) }
        print(
            "\(report.name.printable) (\(report.machine)) is forgotten. If it still runs, it reports again within ten "
                + "minutes.")
    }

    /// Returns the machines of some groups.
    ///
    /// - Parameters:
    ///   - groups: The names of the groups.
    ///   - mayBeUnknown: Whether a group may have no machines yet; otherwise, such a group is refused, unless something
    ///     has been pushed to it or no machine has reported at all.
    /// - Returns: The machines' reports.
    /// - Throws: `Failure`, of which `notFound` is for a group without any machine.
    func receivers(in groups: [String], mayBeUnknown: Bool = true) throws -> [ReceiverReport] {
        let all = try run { try $0.receivers() }
        if !mayBeUnknown, !all.isEmpty {
            let known = Set(all.flatMap(\.groups) + [PushedEntry.everyone])
            let unknown = groups.filter { !known.contains($0) }
            let pushed = unknown.isEmpty ? [] : Set(try run { try $0.entries() }.values.map(\.entry.group))
            if let group = unknown.first(where: { !pushed.contains($0) }) {
                throw Failure(
                    "No machine in the group \(group) has reported. Groups with machines: "
                        + "\(known.sorted().map(\.printable).joined(separator: ", ")). To push before its first "
                        + "machine reports, add --ahead.", .notFound)
            }
        }
        return all.filter { report in
            groups.contains(PushedEntry.everyone) || report.groups.contains(where: groups.contains)
        }
    }
}

extension RegisterFailure {
    /// Whether it usually ends by itself.
    var endsByItself: Bool { if case .unavailable = self { true } else { false } }

    var failure: Failure {
        switch self {
        case .unavailable(let reason):
            Failure(
                "etcd can't be reached: \(Self.sentence(reason)) Check that its members are running, and try again.",
                .unavailable)
        case .expired(let day):
            Failure(
                "The certificate in the credentials expired on \(day). Sign new ones with `defaults fleet init "
                    + "etcd DIRECTORY --renew`, and replace the file.", .unavailable)
        case .refused(let reason): Failure("etcd refuses the request: \(Self.sentence(reason))", .unavailable)
        }
    }

    private static func sentence(_ text: String) -> String { text.hasSuffix(".") ? text : "\(text)." }
}

extension OperatorFailure {
    var failure: Failure {
        switch self {
        case .busy:
            Failure("Others keep pushing the same keys. Nothing was changed; try again.", .temporaryFailure)
        case .unfinished(let entry):
            Failure(
                "Rollout \(entry.rollout) has given \(entry.key.text) to some machines only. End it first: defaults "
                    + "fleet rollout \(entry.rollout) --share all, or --undo.", .temporaryFailure)
        case .tooLarge(let size):
            Failure("The values take \(size) bytes; \(RegisterLimits.bytes) is the limit. Push them in parts.", .usage)
        case .partlyPushed(let number):
            Failure(
                "Only a part of rollout \(number) is pushed: its push is still running or was interrupted. If it was "
                    + "interrupted, run `defaults fleet rollout \(number) --undo`.", .temporaryFailure)
        case .incomplete(let number, nil):
            Failure(
                "Somebody else changed rollout \(number) while it was being written, so only a part was. See "
                    + "`defaults fleet rollout \(number)`.", .temporaryFailure)
        case .incomplete(let number, let reason?):
            Failure(
                "Rollout \(number) may be only partly written: \(reason.failure.message) See `defaults fleet rollout "
                    + "\(number)`.", .temporaryFailure)
        case .unknownOutcome(let number, let reason):
            Failure(
                "It isn't known whether rollout \(number) was written: \(reason.failure.message) See `defaults fleet "
                    + "rollout \(number)`.", .temporaryFailure)
        case .unknown(let number): Failure("There is no rollout \(number). See `defaults fleet rollout`.", .notFound)
        case .undone(let number): Failure("Rollout \(number) has been undone.", .notFound)
        case .unreadable:
            Failure(
                "An entry in etcd can't be read: a later version has written it, or it isn't this fleet's. Nothing was "
                    + "changed.", .dataError)
        case .absent(let key):
            Failure(
                "Nothing is pushed to these groups for \(key.text) in the \(key.layer.rawValue) layer. Nothing was "
                    + "changed.", .notFound)
        case .replaced(let number):
            Failure("Later rollouts have replaced all values of rollout \(number).", .notFound)
        }
    }
}
#endif
