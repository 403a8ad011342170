#if !OVER_FOUNDATION
import DefaultsClient
package import DefaultsCore
package import PropertyList

extension UserDefaults {
    /// Registers fallback values for keys that no other domain of the search list has.
    ///
    /// The values belong to the process: all instances find them, and they are never saved. A value replaces any value
    /// previously registered for the same key. A value that can't be stored is left out and reported to the handler of
    /// `setProblemHandler(_:)`.
    public func register(defaults registrationDictionary: [String: Any]) {
        let values = Self.stored(registrationDictionary)
        client.changeVolatile(Self.registrationDomain) { ($0 ?? [:]).merging(values) { $1 } }
        OwnChanges.publish(
            OwnChange(defaults: self, domain: Self.registrationDomain, keys: registrationDictionary.keys))
    }

    /// Registers stored values of keys, like `register(defaults:)`.
    func register(stored values: [String: PropertyListValue]) { register(defaults: values) }

    // MARK: Suites

    /// Adds a suite's domain to the searches of this instance, after the application's domain and before suites added
    /// earlier.
    ///
    /// A suite in another directory, such as one named by path, can't be added; it is reported to the handler of
    /// `setProblemHandler(_:)`.
    public func addSuite(named suiteName: String) {
        changeSuites(suiteName) { suites, name in suites = [name] + suites.filter { $0 != name } }
    }

    /// Removes a suite's domain from the searches of this instance.
    public func removeSuite(named suiteName: String) {
        changeSuites(suiteName) { suites, name in suites.removeAll { $0 == name } }
    }

    private func changeSuites(_ suiteName: String, _ change: (inout [DomainName], DomainName) -> Void) {
        guard let suite = suite(named: suiteName) else { return }
        guard suite.client === client else {
            let problem = DefaultsError(
                .invalidDomainName,
                "The suite \(suiteName) and this instance's domain are in different directories and can't be searched "
                    + "together.",
                remedy: "Use `UserDefaults(suiteName:)` for each.")
            return ProblemHandler.report(DefaultsProblem(.name, because: problem))
        }
        client.with(client.names(of: list) + [suite.name]) {
            client.changeSuites(of: list) { change(&$0, suite.name) }
        }
    }

    // MARK: Volatile domains

    /// The names of the volatile domains, which exist only in this process.
    public var volatileDomainNames: [String] { client.volatileNames(of: list) }

    /// Returns the values of a volatile domain; empty if there is none with that name.
    public func volatileDomain(forName domainName: String) -> [String: Any] {
        client.volatile(domainName, of: list)?.mapValues(\.anyValue) ?? [:]
    }

    /// Replaces the values of a volatile domain, which exists only in this process.
    ///
    /// Searches include the argument and registration domains and, if they are in use, the language domains. A volatile
    /// domain with the name of a language replaces that language's values until it is removed. Volatile domains with
    /// other names aren't searched. With the name `registrationDomain`, it replaces all values that were registered, as
    /// on a Mac, whereas `register(defaults:)` adds to them.
    public func setVolatileDomain(_ domain: [String: Any], forName domainName: String) {
        let values = Self.stored(domain)
        let old = client.volatile(domainName, of: list) ?? [:]
        client.changeVolatile(domainName) { _ in values }
        OwnChanges.publish(OwnChange(defaults: self, domain: domainName, keys: old.merging(values) { $1 }.keys))
    }

    /// Removes a volatile domain.
    public func removeVolatileDomain(forName domainName: String) {
        let old = client.volatile(domainName, of: list) ?? [:]
        client.changeVolatile(domainName) { _ in nil }
        OwnChanges.publish(OwnChange(defaults: self, domain: domainName, keys: old.keys))
    }

    // MARK: Persistent domains

    /// Returns the values of the user's domain with a name, for any host; `nil` if it has none.
    public func persistentDomain(forName domainName: String) -> [String: Any]? {
        guard let suite = suite(named: domainName) else { return nil }
        let values = suite.client.currentValues(of: Domain(suite.name))
        return values.isEmpty ? nil : values.mapValues(\.anyValue)
    }

    /// Replaces all keys of the user's domain with a name, as one change set.
    public func setPersistentDomain(_ domain: [String: Any], forName domainName: String) {
        guard let suite = suite(named: domainName) else { return }
        replace(Domain(suite.name), of: suite.client, with: Self.stored(domain))
    }

    /// Removes all keys of the user's domain with a name, as one change set.
    public func removePersistentDomain(forName domainName: String) {
        guard let suite = suite(named: domainName) else { return }
        replace(Domain(suite.name), of: suite.client, with: [:])
    }

    /// Replaces all keys of a domain, as one change set.
    func replace(_ domain: Domain, of client: Client, with values: DomainValues) {
        let (old, refusals) = client.with([domain.name]) {
            (client.values(of: domain), client.replace(domain, with: values))
        }
        Self.report(refusals)
        OwnChanges.publish(
            OwnChange(defaults: self, domain: domain.name.description, keys: old.merging(values) { $1 }.keys))
    }

    /// Does nothing: instances share their values, so there is nothing to reset.
    ///
    /// It exists for compatibility with Foundation.
    public static func resetStandardUserDefaults() {}

    // MARK: Conversions

    /// Returns the values of a dictionary that can be stored, and reports the others.
    package static func stored(_ dictionary: [String: Any]) -> DomainValues {
        var values: DomainValues = [:]
        for (key, value) in dictionary {
            do throws(DefaultsError) {
                values[key] = try PropertyListValue(any: value, forKey: key)
            } catch {
                ProblemHandler.report(DefaultsProblem(.value, because: error))
            }
        }
        return values
    }
}

extension UserDefaults {
    /// Adds the language domains to the searches of all instances that share this one's client.
    ///
    /// DefaultsKit has no language data. DefaultsFoundation gets it from ICU, and only when a program requests it. Only
    /// the first call sets the source.
    ///
    /// - Parameter source: A closure that returns the values of a language, named as in `AppleLanguages`, or `nil` for
    ///   an unknown language. It is called on any thread, with no lock held, when a search list first needs a language
    ///   that no other list uses. Two threads that need a language at the same time may both call it.
    package func useLanguages(from source: @escaping @Sendable (String) -> [String: PropertyListValue]?) {
        client.useLanguages(from: source)
    }
}

extension UserDefaults {
    /// The name of the domain that edits go to, for a problem's description.
    var domainName: String? { domain.name.description }

    /// Returns a key's name for a problem's description, with the domain, if any, that the value comes from.
    package func describe(_ key: String, having value: PropertyListValue) -> String {
        client.search(list)
        guard let holder = client.holders(of: key, in: list).first, holder.value == value else { return "\"\(key)\"" }
        return switch holder.layer {
        case .persistent(let domain): "\"\(key)\" of \(domain)"
        case .volatile(let name): "\"\(key)\" of \(name)"
        }
    }
}
#endif
