#if !OVER_FOUNDATION
package import DefaultsClient
package import DefaultsCore
import Linux
public import PropertyList

/// A program's preferences: values by key, which are searched for in several domains and shared live with other
/// programs.
///
/// This class has the API and behavior of Foundation's, and adds what that class lacks on Linux. With an agent, a
/// change by another process or an editor is visible immediately. No value is ever lost to another writer. Arguments,
/// suites, the global domain, per-host, system-wide and managed domains take part in every search.
///
/// A read is a lookup in this process's memory. An edit is in effect when the call returns, and reaches the agent in
/// order. It is durable after `synchronize()`, within a second, or when the process ends normally.
///
/// Instances are thread-safe, and instances with the same name share their values. No lock is held while your code is
/// called, except during in-place changes and `update(_:_:)`.
///
/// ```swift
/// import class DefaultsKit.UserDefaults
///
/// let defaults = UserDefaults.standard
/// defaults.register(defaults: ["fontSize": 12])
/// defaults.set(14, forKey: "fontSize")
/// defaults.integer(forKey: "fontSize")  // 14
/// ```
public final class UserDefaults: Sendable {
    /// The name of the domain that every program searches.
    public static let globalDomain = "NSGlobalDomain"
    /// The name of the volatile domain of the program's arguments.
    public static let argumentDomain = SearchLayer.argumentDomain
    /// The name of the volatile domain of registered defaults, which is searched last.
    public static let registrationDomain = SearchLayer.registrationDomain

    /// The program's own preferences.
    ///
    /// `applicationIdentifier` names their domain. In the body of `withStandard(_:reportingTo:_:)`, this is
    /// the instance passed there.
    public static var standard: UserDefaults { redirected ?? ofProgram }

    private static let ofProgram = UserDefaults(.shared, named: ApplicationIdentifier.name)

    package let client: Client
    package let list: SearchList
    /// The domain that edits go to.
    package let domain: Domain
    /// The instances for keys with a domain, by name; `nil` for this instance itself (see `maximumRetained`).
    let others = ForkSafeMutex<[String: UserDefaults?]>([:])

    /// Creates the preferences of a suite, which several programs may share.
    ///
    /// Edits go to the suite's domain, and searches work as for a program of that name. The global domain is a suite
    /// like any other, and so is the program's own domain.
    ///
    /// Any text is a valid name. Text that can't be a file's name, such as `#file`, is escaped:
    /// `MyTests/FileTests.swift` is the domain `MyTests%2FFileTests.swift`, also for the `defaults` command.
    ///
    /// An absolute path names that file; ".plist" is added if it is missing, and the directory must exist. A file
    /// outside the preferences directory is read and written by the process itself, under the lock that the command
    /// takes as well. Changes by other programs become visible as they do without an agent: on `synchronize()`, on the
    /// first read more than a second after the last one, and every second while the values are observed. Besides the
    /// file, searches include only the arguments and the values registered through an instance in the same directory.
    /// Each such directory costs a thread while an instance or a stream uses it, or edits of its files aren't saved.
    ///
    /// The result is Optional only because Foundation's is; it is never `nil`. `argumentDomain` and
    /// `registrationDomain` aren't stored in files: such a name is reported to the handler of `setProblemHandler(_:)`,
    /// and its values go to a domain with an escaped name.
    ///
    /// - Parameter suiteName: The name; `nil` for the program's own domain.
    public convenience init?(suiteName: String?) {
        self.init(suiteName: suiteName, in: .shared)
    }

    /// Creates the program's own preferences.
    public convenience init() {
        self.init(.shared, named: ApplicationIdentifier.name)
    }

    /// Creates the preferences of a suite from a given client, which need not be the process's own.
    package convenience init?(suiteName: String?, in client: Client) {
        guard let suiteName else {
            self.init(client, named: ApplicationIdentifier.name)
            return
        }
        do throws(DefaultsError) {
            let suite = try client.suite(named: suiteName)
            self.init(suite.client, named: suite.name)
        } catch {
            ProblemHandler.report(DefaultsProblem(.name, because: error))
            self.init(client, named: DomainName(escaping: suiteName, isReserved: true))
        }
    }

    init(_ client: Client, named name: DomainName) {
        self.client = client
        domain = Domain(name)
        list = client.makeList(of: name)
    }

    deinit { client.release(list) }
}

extension UserDefaults {
    /// Returns the domain that a name refers to; if that domain isn't stored in a file, reports it and returns `nil`.
    func suite(named text: String) -> (client: Client, name: DomainName)? {
        do throws(DefaultsProblem) {
            return try resolveSuite(named: text)
        } catch {
            ProblemHandler.report(error)
            return nil
        }
    }

    /// Loads the domain that a name refers to, and waits until its values have arrived.
    ///
    /// - Throws: A `DefaultsProblem` for a name whose domain isn't stored in a file.
    package func loadSuite(named text: String) throws(DefaultsProblem) {
        let suite = try resolveSuite(named: text)
        suite.client.with([suite.name]) {}
    }

    /// Returns the domain that a name refers to.
    ///
    /// The name is resolved as for the process's own client, even if this instance's domain is a file named by path.
    ///
    /// - Throws: A `DefaultsProblem` for a name whose domain isn't stored in a file.
    func resolveSuite(named text: String) throws(DefaultsProblem) -> (client: Client, name: DomainName) {
        do throws(DefaultsError) {
            return try (client.endsWhenUnused ? .shared : client).suite(named: text)
        } catch {
            throw DefaultsProblem(.name, because: error)
        }
    }
}

extension UserDefaults {
    /// Creates preferences that exist only in memory, for tests and previews.
    ///
    /// They have no file, ignore the command line, and share nothing with other instances. Everything else works as
    /// usual: searches, streams, transactions, history, undo, volatile domains.
    ///
    /// ```swift
    /// let defaults = UserDefaults(inMemory: ["quality": 0.5])
    /// ```
    ///
    /// - Parameter values: The initial values of the application's domain.
    public convenience init(inMemory values: [String: PropertyListValue]) {
        let name = ApplicationIdentifier.name
        self.init(Client(inMemory: [Domain(name): values]), named: name)
    }
}

/// Two instances are equal when they are the same instance, as with Foundation's class.
///
/// Instances with the same name share their values, but each has its own suites.
extension UserDefaults: Hashable {
    /// Returns whether both are the same instance.
    public static func == (first: UserDefaults, second: UserDefaults) -> Bool { first === second }

    /// Hashes the instance's identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// Methods that every object has on Apple's platforms.
extension UserDefaults {
    /// Returns a key's value, as `object(forKey:)` does.
    ///
    /// This is part of key-value coding, which Foundation lacks on Linux.
    public func value(forKey key: String) -> Any? { object(forKey: key) }

    /// Sets a key, as `set(_:forKey:)` does; `nil` removes it.
    public func setValue(_ value: Any?, forKey key: String) { set(value, forKey: key) }

    /// Returns whether an object is this instance.
    public func isEqual(_ object: Any?) -> Bool { object as? UserDefaults === self }
}

extension UserDefaults: CustomStringConvertible {
    /// The class and the name of the application's or the suite's domain: `<UserDefaults: org.example.app>`.
    public var description: String { "<UserDefaults: \(domain.name)>" }
}
#endif
