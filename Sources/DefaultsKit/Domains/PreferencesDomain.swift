#if !OVER_FOUNDATION
import DefaultsClient
import DefaultsCore
public import PropertyList

/// A single domain, used without a search: a name, for one user or all users, on one host or any host.
///
/// `UserDefaults.domain(_:user:host:)` returns one. The scopes are those of CFPreferences. Only the current user's
/// domains can be changed.
///
/// ```swift
/// let everywhere = try defaults.domain("org.example.editor")
/// let here = try defaults.domain("org.example.editor", host: .current)
/// here.set("left", forKey: "dock")
/// everywhere.values
/// ```
public struct PreferencesDomain: Hashable, Sendable, CustomStringConvertible {
    let domain: Domain
    /// The instance that returned the domain.
    private let defaults: UserDefaults
    /// The client that serves the domain.
    let client: Client

    init(_ domain: Domain, in defaults: UserDefaults, servedBy client: Client? = nil) {
        self.domain = domain
        self.defaults = defaults
        self.client = client ?? defaults.client
    }

    /// Returns whether both are the same domain in the same directory, regardless of the instances that returned them.
    public static func == (first: PreferencesDomain, second: PreferencesDomain) -> Bool {
        first.domain == second.domain && first.client === second.client
    }

    /// Hashes the domain.
    public func hash(into hasher: inout Hasher) { hasher.combine(domain) }

    /// The application's or the suite's name.
    public var name: String { domain.name.description }

    /// The user whose values the domain holds.
    public var user: PreferencesUser { PreferencesUser(domain.user) }

    /// The identifier of the host on which the values apply; `nil` for any host.
    public var host: String? { domain.host.identifier }

    /// The name, followed by the host unless that is any host, and by the user unless that is the current user.
    public var description: String { domain.description }

    // MARK: Values

    /// The values of this domain.
    public var values: [String: PropertyListValue] { client.currentValues(of: domain) }

    /// Returns a key's value in this domain, without a search; `nil` if the domain doesn't have the key.
    public func propertyListValue(forKey key: String) -> PropertyListValue? { values[key] }

    /// Sets a key in this domain; `nil` removes it.
    ///
    /// It follows the contract of `UserDefaults.set(_:forKey:)`. An edit of a read-only domain, or a value that can't
    /// be stored, is reported to the handler of `UserDefaults.setProblemHandler(_:)`, and nothing is set.
    public func set(_ value: PropertyListValue?, forKey key: String) { set([key: value]) }

    /// Sets keys in this domain, and removes those that are `nil`, as one change set.
    ///
    /// An edit of a read-only domain is reported to the handler of `UserDefaults.setProblemHandler(_:)`, and nothing is
    /// set. A value that can't be stored is reported as well, and its key keeps its value.
    public func set(_ values: [String: PropertyListValue?]) {
        do throws(DefaultsError) {
            try domain.checkWritable()
            defaults.edit(domain, of: client, with: values)
        } catch {
            ProblemHandler.report(DefaultsProblem(.edit, because: error))
        }
    }
}

extension UserDefaults {
    /// Returns a single domain, whether or not it has values.
    ///
    /// - Parameters:
    ///   - name: The application's or the suite's name, or `UserDefaults.globalDomain`. It is escaped as by
    ///     `UserDefaults(suiteName:)`, except that an absolute path is an error.
    ///   - user: The user whose values the domain holds.
    ///   - host: The host on which the values apply.
    /// - Returns: The domain, in this instance's directory or, for an in-memory instance, among its values.
    /// - Throws: A `DefaultsProblem` when the name or the host's identifier isn't valid.
    public func domain(
        _ name: String, user: PreferencesUser = .current, host: PreferencesHost = .any
    ) throws(DefaultsProblem) -> PreferencesDomain {
        do throws(DefaultsError) {
            if name.utf8.first == UInt8(ascii: "/") { _ = try DomainName(name) }
            let domain = Domain(try DomainName(ofFile: name), host: try host.host, user: user.user)
            return PreferencesDomain(domain, in: self)
        } catch {
            throw DefaultsProblem(.name, because: error)
        }
    }

    /// Returns the domains of a scope that have values, or whose files can't be read or parsed, sorted.
    ///
    /// It asks the agent or, without one, reads the directory.
    ///
    /// - Parameters:
    ///   - user: The user whose domains to list.
    ///   - host: The host whose domains to list, or any.
    /// - Returns: The domains.
    /// - Throws: A `DefaultsProblem` when the directory can't be read.
    public func domains(
        user: PreferencesUser = .current, host: PreferencesHost = .any
    ) throws(DefaultsProblem) -> [PreferencesDomain] {
        do throws(DefaultsError) {
            let wanted = try host.host
            return try client.domains(of: user.user).filter { $0.host == wanted }.map {
                PreferencesDomain($0, in: self)
            }
        } catch {
            throw DefaultsProblem(.directory, because: error)
        }
    }
}

/// The host on which a domain's values apply.
public enum PreferencesHost: Hashable, Sendable {
    /// Every host that shares the directory.
    case any
    /// This host, by its machine ID; the same as `any` on a machine that has none.
    case current
    /// A host given by its identifier: its machine ID as an uppercase UUID.
    case identifier(String)

    var host: DomainHost {
        get throws(DefaultsError) {
            switch self {
            case .any: .any
            case .current: Domain.thisHost ?? .any
            case .identifier(let text): try DomainHost(identifier: text)
            }
        }
    }
}

/// The user whose values a domain holds.
public enum PreferencesUser: Hashable, Sendable {
    /// The current user.
    case current
    /// All users of this system, for a domain in one of the system directories, given by its absolute path.
    case any(directory: String)
    /// All users of this system, for a domain whose values the administrator forces.
    case managed

    init(_ user: DomainUser) {
        self =
            switch user {
            case .current: .current
            case .any(let directory): .any(directory: directory)
            case .managed: .managed
            }
    }

    var user: DomainUser {
        switch self {
        case .current: .current
        case .any(let directory): .any(directory: directory)
        case .managed: .managed
        }
    }
}
#endif
