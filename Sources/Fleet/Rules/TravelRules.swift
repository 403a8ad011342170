package import DefaultsCore
package import PropertyList

/// The rules that say which keys travel: those that somebody has added, without those that belong to one machine.
///
/// The list of what was added is itself a domain, which always travels, so that all machines have the same one. Each of
/// its keys is a domain's name or a pattern of names. The value is `true` for the whole domain, or a dictionary with
/// patterns of keys: `Keys` for those that travel, and `Except` for those that don't.
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

    /// An entry of the list.
    package struct Entry: Hashable, Sendable {
        /// Patterns of keys that travel; `nil` for all.
        package var keys: [String]?
        /// Patterns of keys that don't.
        package var except: [String] = []

        package init(keys: [String]? = nil, except: [String] = []) { (self.keys, self.except) = (keys, except) }

        /// Reads an entry; `nil` if it isn't one.
        package init?(_ value: PropertyListValue?) {
            func texts(_ value: PropertyListValue) -> [String]? {
                guard case .array(let elements) = value else { return nil }
                return elements.compactMap { if case .string(let text) = $0 { text } else { nil } }
            }
            switch value {
            case .boolean(true)?: self.init()
            case .dictionary(let entries)?:
                self.init(
                    keys: entries["Keys"].map { texts($0) ?? [] }, except: entries["Except"].flatMap(texts) ?? [])
            default: return nil
            }
        }

        package var propertyList: PropertyListValue {
            if keys == nil, except.isEmpty { return .boolean(true) }
            var entries: [String: PropertyListValue] = [:]
            entries["Keys"] = keys.map { .array($0.map { .string($0) }) }
            if !except.isEmpty { entries["Except"] = .array(except.map { .string($0) }) }
            return .dictionary(entries)
        }
    }

    private struct Rule {
        let domain: GlobPattern
        let keys: [GlobPattern]?
        let except: [GlobPattern]
    }

    private let rules: [Rule]

    /// Reads the list; entries that can't be read add nothing.
    package init(_ list: DomainValues) {
        rules = list.sorted { $0.key < $1.key }.compactMap { name, value in
            Entry(value).map { entry in
                Rule(
                    domain: GlobPattern(name), keys: entry.keys?.map { GlobPattern($0) },
                    except: entry.except.map { GlobPattern($0) })
            }
        }
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
            let matching = rule.keys?.filter { $0.matches(key: key.key) }
            if matching?.isEmpty == true { continue }
            // Somebody who names a key knows what it is.
            let names = matching?.contains { !$0.hasWildcards } ?? false
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
