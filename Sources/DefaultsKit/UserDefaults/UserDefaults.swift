import DefaultsCore
import PropertyList

/// The preferences of a program: values by key, from the domains of a search list, live and shared with other programs.
///
/// It has the spelling and the behaviour of Foundation's class, and what that lacks on Linux: a change by another process
/// or by an editor is seen at once where the agent runs, no value is ever lost to another writer, and arguments, suites,
/// the global domain, this host's domains, the system's and the managed ones take part in every search.
///
/// A read is a lookup in this process's memory. A set is in force when the call returns, goes to the agent in order, and
/// is durable after `synchronize()` or a moment later by itself, also when the process ends normally.
///
/// Any thread may use any instance; instances of one name share their values. No call holds a lock while it calls
/// your code, except changes in place and `update(_:_:)`, whose bodies run under one.
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
    /// The name of the volatile domain that the program's arguments make.
    public static let argumentDomain = SearchLayer.argumentDomain
    /// The name of the volatile domain of last resort.
    public static let registrationDomain = SearchLayer.registrationDomain

    /// The program's own preferences.
    ///
    /// Its domain is named by `applicationIdentifier`.
    public static let standard = UserDefaults(.shared, ApplicationIdentifier.name)

    let live: LiveDomains
    let list: SearchList
    /// The domain that is written to.
    let domain: Domain

    /// Makes the preferences of a suite, such as several programs share.
    ///
    /// Values are written to the suite's domain, and searched as a program's of that name are. The global domain is a suite
    /// like any other, and so is the program's own.
    ///
    /// Any text is a valid name. One that can't be a file's name, such as `#file`, is escaped:
    /// `MyTests/FileTests.swift` is the domain `MyTests%2FFileTests.swift`, to the `defaults` command, too.
    ///
    /// An absolute path names that file; ".plist" is added if it isn't there, and the directory must exist. Outside the
    /// preferences directory such a file is read and written by the process itself, under the same lock as by the command.
    /// Changes by other programs become visible as they do without an agent: on `synchronize()`, on the first read more than
    /// a second after the last one, and every second while the values are observed. Only the arguments and the values
    /// registered through an instance in the same directory are searched besides the file. Each such directory costs a thread.
    ///
    /// The result is Optional only because Foundation's is; it is never `nil`. `argumentDomain` and `registrationDomain` are
    /// in no file: such a name is reported to `onProblem`, and its values go to a domain with an escaped name.
    ///
    /// - Parameter suiteName: the name; `nil` for the program's own domain.
    public convenience init?(suiteName: String?) {
        self.init(suiteName: suiteName, in: .shared)
    }

    /// Makes the program's own preferences.
    public convenience init() {
        self.init(.shared, ApplicationIdentifier.name)
    }

    /// Makes the preferences of a suite among the domains of another place than the process's own.
    package convenience init?(suiteName: String?, in live: LiveDomains) {
        guard let suiteName else {
            self.init(live, ApplicationIdentifier.name)
            return
        }
        do throws(DefaultsError) {
            let suite = try live.suite(named: suiteName)
            self.init(suite.live, suite.name)
        } catch {
            ProblemHandler.report(DefaultsProblem(.name, error))
            self.init(live, DomainName(escaping: suiteName, isReserved: true))
        }
    }

    init(_ live: LiveDomains, _ name: DomainName) {
        self.live = live
        domain = Domain(name)
        list = live.makeList(of: name)
    }

    deinit { live.release(list) }
}
