#if Portal
import DefaultsCore
import PropertyList

/// The map from preferences to the settings of the portal: for each setting, the preferences that it comes from.
///
/// The standard map is in `SettingsMap.standard`. The domain `org.defaultsd.portal` has a user's additions, in the same
/// form, as `Settings`; and as `Domains`, the names of domains that are settings as they are.
struct SettingsMap: Sendable {
    /// The preference that a setting comes from, and how.
    struct Rule: Sendable {
        var domain: String
        var key: String
        var type: PortalType
        /// The setting's value for each value of the preference, by its text; `nil` if it is the same.
        var values: [String: PortalValue]?
    }

    /// A setting: the rules, of which the first one that applies gives the value, and the value that is signaled when
    /// its preference is removed.
    struct Setting: Sendable {
        var rules: [Rule]
        var fallback: PortalValue?
    }

    /// The settings by namespace and key.
    private(set) var settings: [String: [String: Setting]] = [:]
    /// The names of domains whose keys are settings.
    private(set) var domains: Set<String> = []
    /// The reasons why parts of the map can't be used.
    private(set) var problems: [String] = []

    /// The domain with a user's map.
    static let domain = "org.defaultsd.portal"

    /// The prefix of the namespaces of domains.
    static let prefix = "org.defaultsd."

    /// A setting that always exists, so that `--check` can tell whether the desktop's portal asks this program.
    static let marker = (name: "org.defaultsd.portal", key: "version")

    /// The names of the domains from which settings come, and of the map's own.
    var domainNames: Set<String> {
        let ofRules = settings.values.flatMap { $0.values.flatMap { $0.rules.map(\.domain) } }
        return domains.union(ofRules).union([Self.domain])
    }

    /// Creates the map of a user, who may replace settings of the standard map and add others.
    init(_ values: [String: PropertyListValue]) {
        if case .dictionary(let standard)? = try? PropertyListValue(parsing: Array(Self.standard.utf8)) {
            add(standard)
        }
        for other in values.keys.sorted() where !["Settings", "Domains"].contains(other) {
            problems.append("\"\(other)\" isn't an entry of \(Self.domain). Use Settings or Domains.")
        }
        switch values["Settings"] {
        case nil: break
        case .dictionary(let settings)?: add(settings)
        case _?: problems.append("\"Settings\" must be a dictionary.")
        }
        switch values["Domains"] {
        case nil: break
        case .array(let names)?:
            for name in names {
                guard case .string(let text) = name else {
                    problems.append("\"Domains\" must be an array of strings.")
                    continue
                }
                do throws(Wrong) { domains.insert(try Self.checked(text)) } catch {
                    problems.append("\"Domains\": \(error.reason)")
                }
            }
        case _?: problems.append("\"Domains\" must be an array of strings.")
        }
    }

    private mutating func add(_ namespaces: [String: PropertyListValue]) {
        for (name, keys) in namespaces.sorted(by: { $0.key < $1.key }) {
            guard case .dictionary(let keys) = keys, (Array(keys.keys) + [name]).allSatisfy(\.isSendable) else {
                problems.append("\"\(name)\" must be a dictionary, without NULs and noncharacters in names.")
                continue
            }
            for (key, setting) in keys.sorted(by: { $0.key < $1.key }) {
                do throws(Wrong) { settings[name, default: [:]][key] = try Setting(setting) } catch {
                    problems.append("\"\(name)\", \"\(key)\": \(error.reason)")
                }
            }
        }
    }

    fileprivate struct Wrong: Error { let reason: String }

    /// Returns the name of a domain if it can be one.
    fileprivate static func checked(_ name: String) throws(Wrong) -> String {
        do throws(DefaultsError) { return try DomainName(name).description } catch {
            throw Wrong(reason: "\(error)")
        }
    }
}

extension SettingsMap.Setting {
    fileprivate init(_ value: PropertyListValue) throws(SettingsMap.Wrong) {
        let parts = if case .array(let parts) = value { parts } else { [value] }
        rules = []
        for part in parts {
            guard case .dictionary(let entries) = part else {
                throw SettingsMap.Wrong(reason: "A rule must be a dictionary.")
            }
            let rule = try SettingsMap.Rule(entries)
            rules.append(rule)
            guard let value = entries["Default"] else { continue }
            guard let fallback = PortalValue(value, as: rule.type) else {
                throw SettingsMap.Wrong(reason: "\"Default\" isn't of the type \(rule.type.rawValue).")
            }
            self.fallback = fallback
        }
        if rules.isEmpty { throw SettingsMap.Wrong(reason: "There must be a rule.") }
    }
}

extension SettingsMap.Rule {
    fileprivate init(_ entries: [String: PropertyListValue]) throws(SettingsMap.Wrong) {
        func text(_ name: String) throws(SettingsMap.Wrong) -> String? {
            switch entries[name] {
            case nil: return nil
            case .string(let text)?: return text
            case _?: throw SettingsMap.Wrong(reason: "\"\(name)\" must be a string.")
            }
        }
        let known = ["Domain", "Key", "Type", "Values", "Default"]
        if let other = entries.keys.sorted().first(where: { !known.contains($0) }) {
            throw SettingsMap.Wrong(
                reason: "\"\(other)\" isn't an entry of a rule. Use \(known.joined(separator: ", ")).")
        }
        guard let key = try text("Key") else { throw SettingsMap.Wrong(reason: "\"Key\" is missing.") }
        guard let name = try text("Type") else { throw SettingsMap.Wrong(reason: "\"Type\" is missing.") }
        guard let type = PortalType(rawValue: name) else {
            let types = PortalType.allCases.map(\.rawValue).joined(separator: ", ")
            throw SettingsMap.Wrong(reason: "\"Type\" must be one of \(types).")
        }
        domain = try SettingsMap.checked(text("Domain") ?? "NSGlobalDomain")
        (self.key, self.type) = (key, type)
        switch entries["Values"] {
        case nil: values = nil
        case .dictionary(let given)?:
            var values: [String: PortalValue] = [:]
            for (text, value) in given {
                guard let value = PortalValue(value, as: type) else {
                    throw SettingsMap.Wrong(reason: "The value of \"\(text)\" isn't of the type \(type.rawValue).")
                }
                values[text] = value
            }
            self.values = values
        case _?: throw SettingsMap.Wrong(reason: "\"Values\" must be a dictionary.")
        }
    }
}
#endif
