import DefaultsCore

/// One domain by itself, without a search: a name, for one user or for any, on one host or on any.
///
/// The scopes are those of CFPreferences. What isn't the current user's can only be read.
///
/// ```swift
/// let everywhere = try PreferencesDomain("org.example.editor")
/// let here = try PreferencesDomain("org.example.editor", host: .current)
/// here.set("left", forKey: "dock")
/// everywhere.keys()
/// ```
public struct PreferencesDomain: Hashable, Sendable, CustomStringConvertible {
    let domain: Domain

    init(_ domain: Domain) {
        self.domain = domain
    }

    /// Names a domain.
    ///
    /// - Parameters:
    ///   - name: the application's or the suite's name, or `UserDefaults.globalDomain`; escaped as by
    ///     `UserDefaults(suiteName:)`, but for an absolute path, which isn't a domain's name.
    ///   - user: whose values.
    ///   - host: on which host.
    /// - Throws: when the name or the host's identifier can't be one.
    public init(
        _ name: String, user: PreferencesUser = .current, host: PreferencesHost = .any
    ) throws(DefaultsProblem) {
        do throws(DefaultsError) {
            if name.utf8.first == UInt8(ascii: "/") { _ = try DomainName(name) }
            domain = Domain(try DomainName(ofFile: name), host: try host.host, user: user.user)
        } catch {
            throw DefaultsProblem(.name, error)
        }
    }

    /// The application's or the suite's name.
    public var name: String { domain.name.description }

    /// Whose values they are.
    public var user: PreferencesUser { PreferencesUser(domain.user) }

    /// The identifier of the host on which they hold; `nil` for any.
    public var host: String? { domain.host.identifier }

    /// The name, with the host and the user where they aren't any and the current one.
    public var description: String { domain.description }
}
