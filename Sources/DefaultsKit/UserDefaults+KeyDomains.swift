import PropertyList

#if OVER_FOUNDATION
import Foundation
import Synchronization
#else
import DefaultsClient
import DefaultsCore
import Linux
#endif

extension UserDefaults {
    #if OVER_FOUNDATION
    /// The instances of keys' domains, by name; those of further domains are created for each call.
    ///
    /// Foundation's class isn't declared Sendable on all systems, but is guarded by locks of its own.
    private struct Others: @unchecked Sendable {
        var byDomain: [String: UserDefaults] = [:]
    }

    private static let others = ForkSafeMutex(Others())

    /// Returns the instance for a key: this one, unless the key has a domain.
    ///
    /// Foundation has no suite for the program's own domain, which is that of `standard`.
    func owner(of domain: String?) -> UserDefaults {
        guard let domain else { return self }
        return Self.others.withLock { others in
            if let known = others.byDomain[domain] { return known }
            let new = UserDefaults(suiteName: domain) ?? .standard
            if others.byDomain.count < 64 { others.byDomain[domain] = new }
            return new
        }
    }

    private func hasDomain(of other: UserDefaults) -> Bool { self === other }

    /// Returns the name of the domain that a key names.
    static func name(ofDomain domain: String) -> String { domain }
    #else
    /// Returns the name of the domain that a key names, which may be the path of a file.
    static func name(ofDomain domain: String) -> String? { (try? DomainName(ofFile: domain))?.description }

    /// The maximum number of instances that are retained for keys with a domain.
    ///
    /// Those for further domains are created for each call, so that a program can have a domain for each of its users.
    static let maximumRetained = 64

    /// Returns the instance for a key: this one, unless the key has another domain.
    package func owner(of domain: String?) -> UserDefaults {
        guard let domain else { return self }
        if let known = others.withLock({ $0[domain] }) { return known ?? self }
        guard let new = UserDefaults(suiteName: domain, in: client.endsWhenUnused ? .shared : client) else {
            return self
        }
        // A reference to this instance itself would never be released.
        let other = hasDomain(of: new) ? nil : new
        return others.withLock { others in
            if let known = others[domain] { return known ?? self }
            if others.count < Self.maximumRetained { others[domain] = .some(other) }
            return other ?? self
        }
    }

    private func hasDomain(of other: UserDefaults) -> Bool { client === other.client && domain == other.domain }

    /// Returns the problem of a key that belongs to another domain; `nil` if it belongs to this instance's.
    func problem<Value>(with key: DefaultsKey<Value>) -> DefaultsProblem? {
        guard let domain = key.domain, !hasDomain(of: owner(of: domain)) else { return nil }
        return DefaultsProblem(foreign: key.name, of: domain, besides: domainName)
    }

    /// Returns whether a key belongs to this instance's domain; if not, reports that.
    package func owns<Value>(_ key: DefaultsKey<Value>) -> Bool {
        guard let problem = problem(with: key) else { return true }
        Self.report(problem)
        return false
    }
    #endif

    /// Returns the instance for keys that are used together: that of the first one's domain.
    ///
    /// Keys of other domains are reported.
    ///
    /// - Returns: The instance, and for each key whether it belongs to the instance's domain.
    func owner(ofAll keys: [(name: String, domain: String?)]) -> (owner: UserDefaults, owns: [Bool]) {
        let owner = owner(of: keys.first?.domain)
        return (owner, ownership(of: keys, by: owner, named: keys.first?.domain ?? domainName))
    }

    /// Returns for each key whether it belongs to an instance's domain; if not, reports that.
    private func ownership(
        of keys: [(name: String, domain: String?)], by owner: UserDefaults, named domain: String?
    ) -> [Bool] {
        keys.map { key in
            let owns = owner.hasDomain(of: self.owner(of: key.domain))
            if !owns {
                let other = key.domain ?? domainName ?? ""
                Self.report(DefaultsProblem(foreign: key.name, of: other, besides: domain))
            }
            return owns
        }
    }

    /// Returns for each key whether it belongs to this instance's domain; if not, reports that.
    func ownership(of keys: [(name: String, domain: String?)]) -> [Bool] {
        ownership(of: keys, by: self, named: domainName)
    }
}

extension DefaultsProblem {
    /// Creates the problem of a key that is used together with keys of another domain.
    init(foreign key: String, of domain: String, besides other: String?) {
        self.init(
            .name,
            describedBy: "\"\(key)\" is a key of \(domain), and can't be used together with keys of "
                + "\(other ?? "another domain"). Use it separately.")
    }
}
