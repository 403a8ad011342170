import DefaultsCore
import Linux
import Synchronization

/// The name of the program's own domain.
package enum ApplicationIdentifier {
    /// What the program has set, or was suggested.
    private static let chosen = ForkSafeMutex<DomainName?>(nil)
    /// Whether someone has asked for the name, and may have made use of it.
    private static let isUsed = Atomic(false)

    static var name: DomainName {
        isUsed.store(true, ordering: .relaxed)
        return current
    }

    /// The name as it would be used now.
    static var current: DomainName { chosen.withLock { $0 } ?? ofExecutable }

    /// Takes what the program sets, unless the name is in use.
    static func choose(_ name: DomainName) throws(DefaultsError) {
        if isUsed.load(ordering: .relaxed), name != current {
            throw DefaultsError(
                .invalidDomainName,
                "The application's identifier is in use as \"\(current)\"; set it before the first UserDefaults is made."
            )
        }
        chosen.withLock { $0 = name }
    }

    /// Takes the identifier of the program's bundle, which only Foundation knows, unless the program has set another or
    /// uses the executable's name already.
    package static func suggest(_ identifier: String) {
        guard !isUsed.load(ordering: .relaxed), let name = try? DomainName(identifier) else { return }
        chosen.withLock { if $0 == nil { $0 = name } }
    }

    /// The executable's name, as Foundation takes it where there is no bundle.
    private static let ofExecutable: DomainName = {
        let deleted = " (deleted)"
        var path = AppIdentity.current.executable
        if path.hasSuffix(deleted) { path.removeLast(deleted.count) }
        let name = Path.lastName(of: path)
        // A file's name may begin with a point, or be longer than a domain's.
        let bytes = String(name.drop { $0 == "." }).utf8.prefix(200)
        return (try? DomainName(String(decoding: bytes, as: UTF8.self))) ?? unknown
    }()

    private static let unknown = (try? DomainName("unknown-program")) ?? .global
}

extension UserDefaults {
    /// The name of the domain of `standard`: the executable's, unless the program has set another.
    ///
    /// To be set before the first instance without a suite is made; a name that comes later, or that can't be a domain's, is
    /// reported and not taken.
    public static var applicationIdentifier: String {
        get { ApplicationIdentifier.current.description }
        set {
            do throws(DefaultsError) {
                try ApplicationIdentifier.choose(try DomainName(ofFile: newValue))
            } catch {
                ProblemHandler.report(DefaultsProblem(.name, error))
            }
        }
    }
}
