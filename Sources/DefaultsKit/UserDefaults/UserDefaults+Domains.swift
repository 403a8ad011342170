import DefaultsCore
import PropertyList

extension UserDefaults {
    /// Adds values of last resort, for keys that no other domain of the search list has.
    ///
    /// They are the process's, for all instances; they are never saved, and a value that was registered before is
    /// replaced. A value that can't be one is reported to `onProblem`, and left out.
    public func register(defaults registrationDictionary: [String: Any]) {
        let values = Self.stored(registrationDictionary)
        live.changeVolatile(Self.registrationDomain) { ($0 ?? [:]).merging(values) { $1 } }
        LocalEdits.post(LocalEdit(defaults: self, domain: Self.registrationDomain, keys: registrationDictionary.keys))
    }

    // MARK: Suites

    /// Searches another suite's domain as well, after the application's and before those of suites added earlier.
    public func addSuite(named suiteName: String) {
        changeSuites(suiteName) { suites, name in suites = [name] + suites.filter { $0 != name } }
    }

    /// Searches a suite's domain no more.
    public func removeSuite(named suiteName: String) {
        changeSuites(suiteName) { suites, name in suites.removeAll { $0 == name } }
    }

    private func changeSuites(_ suiteName: String, _ change: (inout [DomainName], DomainName) -> Void) {
        guard let suite = suite(named: suiteName) else { return }
        guard suite.live === live else {
            let problem = DefaultsError(
                .invalidDomainName,
                "The suite \(suiteName) and this instance's domain are in different directories, and can't be searched "
                    + "together; use `UserDefaults(suiteName:)` for each.")
            return ProblemHandler.report(DefaultsProblem(.name, problem))
        }
        live.with(live.names(of: list) + [suite.name]) {
            live.changeSuites(of: list) { change(&$0, suite.name) }
        }
    }

    // MARK: Volatile domains

    /// The names of the domains of this process alone.
    public var volatileDomainNames: [String] { live.volatileNames(of: list) }

    /// The values of a domain of this process alone; empty when there is none of that name.
    public func volatileDomain(forName domainName: String) -> [String: Any] {
        live.volatile(domainName, of: list)?.mapValues(\.anyValue) ?? [:]
    }

    /// Replaces a domain of this process alone.
    ///
    /// Only the argument and the registration domain are searched, and the languages domains where they are used: one that
    /// is set stands for the language of its name until it is removed.
    public func setVolatileDomain(_ domain: [String: Any], forName domainName: String) {
        let values = Self.stored(domain)
        let old = live.volatile(domainName, of: list) ?? [:]
        live.changeVolatile(domainName) { _ in values }
        LocalEdits.post(LocalEdit(defaults: self, domain: domainName, keys: old.merging(values) { $1 }.keys))
    }

    /// Removes a domain of this process alone.
    public func removeVolatileDomain(forName domainName: String) {
        let old = live.volatile(domainName, of: list) ?? [:]
        live.changeVolatile(domainName) { _ in nil }
        LocalEdits.post(LocalEdit(defaults: self, domain: domainName, keys: old.keys))
    }

    // MARK: Persistent domains

    /// The values of the user's domain of a name, for any host; `nil` when it has none.
    public func persistentDomain(forName domainName: String) -> [String: Any]? {
        guard let suite = suite(named: domainName) else { return nil }
        let values = suite.live.currentValues(of: Domain(suite.name))
        return values.isEmpty ? nil : values.mapValues(\.anyValue)
    }

    /// Replaces all keys of the user's domain of a name, as one change set.
    public func setPersistentDomain(_ domain: [String: Any], forName domainName: String) {
        guard let suite = suite(named: domainName) else { return }
        replace(Domain(suite.name), of: suite.live, with: Self.stored(domain))
    }

    /// Removes all keys of the user's domain of a name, as one change set.
    public func removePersistentDomain(forName domainName: String) {
        guard let suite = suite(named: domainName) else { return }
        replace(Domain(suite.name), of: suite.live, with: [:])
    }

    /// Replaces all keys of a domain, as one change set.
    func replace(_ domain: Domain, of live: LiveDomains, with values: DomainValues) {
        let old = live.with([domain.name]) {
            defer { live.replace(domain, with: values) }
            return live.values(of: domain)
        }
        LocalEdits.post(
            LocalEdit(defaults: self, domain: domain.name.description, keys: old.merging(values) { $1 }.keys))
    }

    /// Has no effect: instances share their values, and nothing is kept that could be reset.
    ///
    /// It is there since Foundation has it.
    public static func resetStandardUserDefaults() {}

    // MARK: Conversions

    /// What can be stored of a dictionary; what can't is reported.
    static func stored(_ dictionary: [String: Any]) -> DomainValues {
        var values: DomainValues = [:]
        for (key, value) in dictionary {
            do throws(DefaultsError) {
                values[key] = try PropertyListValue(any: value, forKey: key)
            } catch {
                ProblemHandler.report(DefaultsProblem(.value, error))
            }
        }
        return values
    }
}
