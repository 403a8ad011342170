import DefaultsCore
public import PropertyList

extension PreferencesDomain {
    /// A key's value in this domain alone.
    ///
    /// - Parameters:
    ///   - key: the key.
    ///   - defaults: among whose domains to look.
    /// - Returns: the value; `nil` when this domain has none.
    public func propertyListValue(forKey key: String, in defaults: UserDefaults = .standard) -> PropertyListValue? {
        values(in: defaults)[key]
    }

    /// All values of this domain.
    public func values(in defaults: UserDefaults = .standard) -> [String: PropertyListValue] {
        defaults.live.currentValues(of: domain)
    }

    /// The keys that have a value in this domain, in order.
    public func keys(in defaults: UserDefaults = .standard) -> [String] {
        values(in: defaults).keys.sorted()
    }

    /// Sets a key in this domain; `nil` removes it.
    public func set(_ value: PropertyListValue?, forKey key: String, in defaults: UserDefaults = .standard) {
        set([key: value], in: defaults)
    }

    /// Sets keys in this domain, and removes those that are `nil`, as one change set.
    public func set(_ values: [String: PropertyListValue?], in defaults: UserDefaults = .standard) {
        do throws(DefaultsError) {
            try domain.checkWritable()
            var stored = Difference()
            for (key, value) in values { stored[key] = .some(try PropertyListValue(storing: value, forKey: key)) }
            defaults.live.edit(domain, stored)
            LocalEdits.post(LocalEdit(defaults: defaults, domain: name, keys: values.keys))
        } catch {
            ProblemHandler.report(DefaultsProblem(.edit, error))
        }
    }

    /// The domains of a scope that have values, or a file that can't be read or understood, in order.
    ///
    /// Asks the agent, or reads the directory.
    ///
    /// - Parameters:
    ///   - user: whose.
    ///   - host: those for any host, or those for one.
    ///   - defaults: among whose domains to look.
    /// - Returns: the domains.
    /// - Throws: when the directory can't be read.
    public static func all(
        user: PreferencesUser = .current, host: PreferencesHost = .any, in defaults: UserDefaults = .standard
    ) throws(DefaultsProblem) -> [PreferencesDomain] {
        do throws(DefaultsError) {
            let wanted = try host.host
            let domains = try defaults.live.domains(of: user.user)
            return domains.filter { $0.host == wanted }.map(PreferencesDomain.init)
        } catch {
            throw DefaultsProblem(.directory, error)
        }
    }
}
