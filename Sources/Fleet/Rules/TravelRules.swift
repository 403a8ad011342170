package import DefaultsCore
import PropertyList

/// The rules that say which keys travel: those that somebody has added, without those that belong to one machine.
///
/// The list of what was added is itself a domain, which always travels, so that all machines have the same one. Each of
/// its keys is a domain's name or a pattern of names; if it isn't for the whole domain, a slash and a key or a pattern
/// of keys follow. The value is `true` for what travels, and `false` for what doesn't.
package struct TravelRules: Sendable {
    /// The domain with the list.
    package static let list = DomainName(escaping: "org.defaultsd.fleet")
    /// The domain with a dictionary for each machine: its name.
    package static let machines = DomainName(escaping: "org.defaultsd.fleet.machines")
    /// The number of changes on one day up to which a key travels.
    package static let busyLimit = 20

    /// The reason why a key is held back.
    package enum Reason: Hashable, Sendable {
        /// Nobody has added it.
        case notAdded
        /// Somebody has excepted it; the pattern.
        case excepted(String)
        /// It looks like what an app remembers; the part of its name.
        case noise(String)
        /// It looks like what makes a machine itself, or lets somebody in; the part of its name.
        case identity(String)
        /// The manifest says that it depends on the machine.
        case ofMachine
        /// The manifest says that it is what the app remembers.
        case remembered
        /// The manifest says that it is secret.
        case secret
        /// Its manifest can't be read, so that nobody knows whether it is secret.
        case unknown
        /// It has changed more often today than a person would change it; the number of changes.
        case busy(Int)
    }

    /// The part of a manifest's description of a key that matters here.
    package enum Scope: Sendable { case roaming, machine, noise, secret, unknown }

    /// The name of an entry of the list: a domain or a pattern of domains, and perhaps a key or a pattern of keys.
    ///
    /// Each pattern of keys has an entry of its own, so that people on two machines may add different ones at the same
    /// time.
    package struct Entry: Hashable, Sendable {
        package var domain: String
        /// A key or a pattern of keys; `nil` for all keys.
        package var key: String?

        package init(domain: String, key: String?) { (self.domain, self.key) = (domain, key) }

        /// Reads an entry's name; no domain's name has a slash.
        package init(_ name: String) {
            let parts = name.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            self.init(domain: parts[0], key: parts.count > 1 ? parts[1] : nil)
        }

        package var name: String { key.map { "\(domain)/\($0)" } ?? domain }
    }

    private struct Rule {
        let domain: GlobPattern
        var keys: [GlobPattern] = []
        var except: [GlobPattern] = []
    }

    private let rules: [Rule]
    /// The names of the entries that can't be read, in order.
    package let unreadable: [String]

    /// Reads the list; entries that can't be read add nothing.
    package init(_ list: DomainValues) {
        var rules: [String: Rule] = [:]
        var unreadable: [String] = []
        for (name, value) in list.sorted(by: { $0.key < $1.key }) {
            guard case .boolean(let travels) = value else {
                unreadable.append(name)
                continue
            }
            let entry = Entry(name)
            let pattern = GlobPattern(entry.key ?? "*")
            var rule = rules[entry.domain] ?? Rule(domain: GlobPattern(entry.domain))
            if travels { rule.keys.append(pattern) } else { rule.except.append(pattern) }
            rules[entry.domain] = rule
        }
        self.unreadable = unreadable
        self.rules = rules.sorted { $0.key < $1.key }.map(\.value).filter { !$0.keys.isEmpty }
    }

    /// Returns whether keys of a domain may travel.
    package func includes(_ domain: String) -> Bool {
        Self.isOwn(domain) || rules.contains { $0.domain.matches(domain) }
    }

    /// Returns whether a domain is the list or that of the machines.
    package static func isOwn(_ domain: String) -> Bool {
        domain == list.description || domain == machines.description
    }

    /// Returns the rule that holds a key back; `nil` if it travels.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - scope: What the domain's manifest says about it.
    ///   - changes: The number of its changes today.
    /// - Returns: The reason.
    package func reason(against key: FleetKey, scope: Scope = .roaming, changes: Int = 0) -> Reason? {
        if Self.isOwn(key.domain) { return nil }
        var (isAdded, isNamed) = (false, false)
        var exception: String?
        for rule in rules where rule.domain.matches(key.domain) {
            let matching = rule.keys.filter { $0.matches(key: key.key) }
            if matching.isEmpty { continue }
            // A person who names a key knows what it is.
            let names = matching.contains { !$0.hasWildcards }
            let pattern = rule.except.first { $0.matches(key: key.key) && !(names && $0.hasWildcards) }
            if let pattern {
                exception = pattern.text
            } else {
                isAdded = true
                isNamed = isNamed || names
            }
        }
        if isNamed { return nil }
        if let exception { return .excepted(exception) }
        if !isAdded { return .notAdded }
        switch scope {
        case .roaming: break
        case .machine: return .ofMachine
        case .noise: return .remembered
        case .secret: return .secret
        case .unknown: return .unknown
        }
        let name = key.key.lowercased().filter { !"-_. ".contains($0) }
        if let word = Self.identities.first(where: name.contains) { return .identity(word) }
        if Self.wholeNames.contains(name) { return .noise(name) }
        if let word = Self.noise.first(where: name.contains) { return .noise(word) }
        return changes > Self.busyLimit ? .busy(changes) : nil
    }

    /// Parts of names of what apps remember: windows, the last folder, the last check; without case and separators.
    private static let noise = [
        "windowframe", "windowgeometry", "windowposition", "windowstate", "windowsize", "nssplitview", "nstableview",
        "nstoolbarconfiguration", "nsnav", "nsrecentdocument", "sulastchecktime", "suupdategroupidentifier",
        "lastcheck", "lastdir", "lastfolder", "lastlaunch", "lastopened", "lastpath", "lastrun", "lastupdate",
        "lastused",
        "recentdocument", "recentfile", "recentfolder", "recentitem", "timestamp", "updatetime", "cache",
    ]
    private static let wholeNames: Set = ["frame", "geometry"]

    /// Parts of names of what makes a machine itself, or lets somebody in.
    private static let identities = [
        "uuid", "deviceid", "hardwareid", "hostid", "machineid", "sessionid", "apikey", "certificate", "cookie",
        "credential", "passphrase", "password", "passwd", "privatekey", "secret", "sshkey", "token",
    ]
}
