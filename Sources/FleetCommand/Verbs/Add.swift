#if Fleet
import ArgumentParser
import DefaultsClient
import DefaultsCommand
import DefaultsCore
import Fleet
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
        var entry = list[domain]
        if keys.isEmpty {
            // Keys that were named stay so, since they travel even if they look like what is held back.
            let named = entry?.keys?.filter { !GlobPattern($0).hasWildcards } ?? []
            entry = TravelRules.Entry(keys: named.isEmpty ? nil : ["*"] + named, except: entry?.except ?? [])
        } else if let former = entry {
            // "*" stands for the whole domain beside keys that are named.
            let old = former.keys ?? ["*"]
            entry?.keys = old + keys.filter { !old.contains($0) }
            entry?.except.removeAll { keys.contains($0) }
        } else {
            entry = TravelRules.Entry(keys: keys)
        }
        let known = entry?.except ?? []
        entry?.except += except.filter { !known.contains($0) }
        try list.set(domain, to: entry)
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
        guard var entry = list[domain] else {
            let names = list.names.isEmpty ? "It is empty." : "It has: \(list.names.joined(separator: ", "))."
            throw Failure("\(domain) isn't in the list. \(names)", .notFound)
        }
        if keys.isEmpty {
            try list.set(domain, to: nil)
            return try confirm()
        }
        for key in keys {
            // A pattern removes the keys that were named, too.
            entry.keys?.removeAll { $0 == key || GlobPattern(key).matches(key: $0) }
            let rest = entry.keys?.map { GlobPattern($0) }
            let isIncluded = rest?.contains { $0.hasWildcards || $0.matches(key: key) } ?? true
            if isIncluded, !entry.except.contains(key) { entry.except.append(key) }
        }
        try list.set(domain, to: entry.keys == [] ? nil : entry)
        try confirm()
    }

    /// Says what is true now: other entries may still include the keys.
    private func confirm() throws {
        let list = try TravelList(try Member.backend())
        let others = list.names.filter { $0 != domain && GlobPattern($0).matches(domain) }
        let what = ([domain] + keys).joined(separator: " ").printable
        if others.isEmpty { return print("\(what) no longer travels.") }
        print("\(what) was removed, but \(others.joined(separator: ", ")) was also added and may include it.")
    }
}

/// The list of what travels, as it is on this machine.
struct TravelList {
    private let backend: any Backend
    private let values: DomainValues

    /// Reads the list.
    ///
    /// - Throws: If the machine isn't in a fleet.
    init(_ backend: any Backend) throws {
        _ = try Member().state()
        self.backend = backend
        values = try backend.snapshot(of: Domain(TravelRules.list)).values
    }

    var names: [String] { values.keys.sorted() }

    subscript(domain: String) -> TravelRules.Entry? { TravelRules.Entry(values[domain]) }

    /// Sets or removes an entry, if nobody has changed it since.
    func set(_ domain: String, to entry: TravelRules.Entry?) throws {
        if !GlobPattern(domain).hasWildcards { _ = try DomainName(domain) }
        guard !TravelRules.isOwn(domain) else { throw Failure("\(domain) always travels.", .usage) }
        let domainOfList = Domain(TravelRules.list)
        try backend.edit(
            domainOfList, with: [domain: entry?.propertyList], replacesAll: false, expecting: [domain: values[domain]],
            origin: nil)
        try backend.synchronize(domainOfList)
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
