#if Fleet
import ArgumentParser
import DefaultsClient
import DefaultsCommand
import DefaultsCore
import Fleet
import Linux
import PropertyList

/// `defaults fleet add DOMAIN [KEY...]`.
struct Add: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Let keys of a domain travel to all machines of the fleet.",
        discussion: """
            Without keys, adds the domain, except for keys that belong to one machine: window frames, times, caches, \
            identities, tokens; and what the domain's manifest says is of the machine or secret. `status DOMAIN` lists \
            them. A key that you name without wildcards travels nevertheless. Preferences for one host never travel.

            Their values on this machine are set on all others, whose own stay in their histories. The list of what \
            travels is the domain org.defaultsd.fleet, and is the same on all machines. DOMAIN may be a pattern such \
            as "org.example.*", and NSGlobalDomain is the global domain.

            EXAMPLES
              defaults fleet add org.example.editor
              defaults fleet add org.example.editor FontSize "Tab*"
              defaults fleet add "org.example.*" --except "Scratch*"
            """)

    @Argument(help: "The domain, or a pattern of domains.") var domain: String
    @Argument(help: "Keys, or patterns of keys (default: all).") var keys: [String] = []
    @Option(parsing: .upToNextOption, help: "Patterns of keys that don't travel.") var except: [String] = []

    func run() throws {
        let backend = try Member.backend()
        let list = try TravelList(backend)
        let added = keys.isEmpty ? [TravelRules.Entry(domain: domain, key: nil)] : list.entries(of: domain, keys: keys)
        var changes = Dictionary(added.map { ($0, true as Bool?) }) { $1 }
        // `remove DOMAIN "*"` has excepted all keys.
        for entry in added where entry.key == nil { changes[.init(domain: domain, key: "*")] = .some(nil) }
        // Without keys, what was excepted before stays so.
        for entry in list.entries(of: domain, keys: except) where changes[entry] == nil { changes[entry] = false }
        try list.change(changes)
        try TravelList.report(domain, from: backend)
    }
}

/// `defaults fleet remove DOMAIN [KEY...]`.
struct Remove: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Keep keys of a domain from traveling.",
        discussion: """
            Values stay as they are on all machines; from now on, each has its own. Without keys, removes the domain, \
            which must have been added under this name or pattern.

            EXAMPLES
              defaults fleet remove org.example.editor
              defaults fleet remove org.example.editor FontSize
            """)

    @Argument(help: "The domain or the pattern that was added.") var domain: String
    @Argument(help: "Keys, or patterns of keys (default: all).") var keys: [String] = []

    func run() throws {
        let list = try TravelList(try Member.backend())
        let former = list.entries.filter { $0.key.domain == domain }
        guard former.values.contains(true) else {
            let names = list.names.isEmpty ? "It is empty." : "It has: \(list.names.joined(separator: ", "))."
            throw Failure("\(domain) isn't in the list. \(names)", .notFound)
        }
        var changes: [TravelRules.Entry: Bool?] = [:]
        if keys.isEmpty { for entry in former.keys { changes[entry] = .some(nil) } }
        for key in keys {
            // A pattern removes the keys that were named, too.
            let isRemoved = { (entry: TravelRules.Entry) in
                entry.key.map { $0 == key || GlobPattern(key).matches(key: $0) } ?? false
            }
            for (entry, travels) in former where travels && isRemoved(entry) { changes[entry] = .some(nil) }
            let others = former.filter { $1 && !isRemoved($0) }.keys.map { GlobPattern($0.key ?? "*") }
            if others.contains(where: { $0.hasWildcards || $0.matches(key: key) }) {
                changes[TravelRules.Entry(domain: domain, key: key)] = false
            }
        }
        // Exceptions alone mean nothing.
        var rest = former
        for (entry, travels) in changes { rest[entry] = travels }
        if !rest.values.contains(true) { changes = former.mapValues { _ in nil } }
        try list.change(changes)
        try confirm()
    }

    /// Says what is true now: other entries may still include the keys.
    private func confirm() throws {
        let list = try TravelList(try Member.backend())
        let others = list.domains.filter { $0 != domain && GlobPattern($0).matches(domain) }
        let what = ([domain] + keys).joined(separator: " ").printable
        if others.isEmpty { return print("\(what) no longer travels.") }
        print("\(what) was removed, but \(others.joined(separator: ", ")) was also added and may include it.")
    }
}

/// The list of what travels, as it is on this machine.
struct TravelList {
    private let backend: any Backend
    /// The values in the file.
    private let stored: DomainValues
    /// The values that hold, also if the file is away.
    private let values: DomainValues

    /// Reads the list.
    ///
    /// - Throws: If the machine isn't in a fleet.
    init(_ backend: any Backend) throws {
        let state = try Member().state()
        self.backend = backend
        stored = try backend.snapshot(of: Domain(TravelRules.list)).values
        values = state.list(with: stored)
    }

    /// The names of the entries with what travels.
    var names: [String] { entries.filter(\.value).keys.map(\.name).sorted() }

    /// The domains and patterns of domains in the list.
    var domains: [String] { Set(entries.filter(\.value).keys.map(\.domain)).sorted() }

    /// The entries, and whether what they name travels.
    var entries: [TravelRules.Entry: Bool] {
        var entries: [TravelRules.Entry: Bool] = [:]
        for (name, value) in values { if case .boolean(let travels) = value { entries[.init(name)] = travels } }
        return entries
    }

    /// Returns the entries of keys of a domain; "*" stands for the whole domain.
    func entries(of domain: String, keys: [String]) -> [TravelRules.Entry] {
        keys.map { TravelRules.Entry(domain: domain, key: $0 == "*" ? nil : $0) }
    }

    /// Sets entries, or with `nil` removes them, if they haven't changed since.
    func change(_ changes: [TravelRules.Entry: Bool?]) throws {
        for domain in Set(changes.keys.map(\.domain)) {
            if !GlobPattern(domain).hasWildcards { _ = try DomainName(domain) }
            guard !TravelRules.isOwn(domain) else { throw Failure("\(domain) always travels.", .usage) }
            guard !Path.hasSeparator(domain) else {
                throw Failure("\(domain) has a slash, which no domain's name has.", .usage)
            }
        }
        let new = Dictionary(changes.map { ($0.name, $1.map { PropertyListValue.boolean($0) }) }) { $1 }
        guard new.allSatisfy({ $1 != nil || stored[$0] == values[$0] }) else {
            throw Failure(
                "The file with the list of what travels is missing. Restore the file, or wait a minute, and try again.",
                .temporaryFailure)
        }
        let list = Domain(TravelRules.list)
        try backend.edit(
            list, with: new, replacesAll: false,
            expecting: Dictionary(new.keys.map { ($0, stored[$0]) }) { $1 }, origin: nil)
        try backend.synchronize(list)
    }

    /// Says what travels of a domain now.
    static func report(_ domain: String, from backend: any Backend) throws {
        let held = try HeldBackKeys(backend)
        let names = try backend.domains().filter { $0.user == .current && $0.host == .any }.map(\.name.description)
        let matching = names.filter { GlobPattern(domain).matches($0) }
        let keys = try matching.flatMap { try held.keys(of: $0) }
        let count = keys.count { $0.reason != nil }
        let travelling = keys.count - count
        print("\(travelling.counting("key")) of \(domain.printable) travel\(travelling == 1 ? "s" : "").")
        if count > 0 {
            let command = domain.quotedForShell
            print("\(count.counting("key")) held back: `defaults fleet status \(command.printable)` explains why.")
        }
        if try !FleetHome(environment: .current).isLocked {
            print("The connector isn't running: start it with `defaults fleet run`.")
        }
    }
}
#endif
