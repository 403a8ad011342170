#if !OVER_FOUNDATION
import DefaultsClient
import DefaultsCore
import Linux
import Synchronization

/// The name of the program's own domain.
///
/// The name is fixed on first use, since files and searches depend on it.
package enum ApplicationIdentifier {
    /// The name that the program has set or that was suggested; `nil` for the executable's name.
    private static let chosen = ForkSafeMutex<DomainName?>(nil)
    /// Whether the name has been read, so that it can no longer change.
    private static let isUsed = Atomic(false)

    static var name: DomainName {
        isUsed.store(true, ordering: .relaxed)
        return current
    }

    /// The name that would currently be used; reading this property doesn't fix it.
    static var current: DomainName { chosen.withLock { $0 } ?? ofExecutable }

    /// Sets the name, unless another is already in use.
    static func choose(_ name: DomainName) throws(DefaultsError) {
        if isUsed.load(ordering: .relaxed), name != current {
            throw DefaultsError(
                .invalidDomainName,
                "The application identifier is already \"\(current)\".",
                remedy: "Set it before creating the first UserDefaults.")
        }
        chosen.withLock { $0 = name }
    }

    /// Sets the name from the bundle identifier, which only Foundation knows.
    ///
    /// It has no effect if the program has set a name, or if the executable's name is already in use.
    package static func suggest(_ identifier: String) {
        guard !isUsed.load(ordering: .relaxed), let name = try? DomainName(identifier) else { return }
        chosen.withLock { if $0 == nil { $0 = name } }
    }

    /// The executable's name, which Foundation also uses if there is no bundle.
    private static let ofExecutable: DomainName = {
        let name = Path.lastName(of: ProgramFile(target: AppIdentity.current.executable).path)
        // A file's name may begin with a dot or be too long for a domain's name.
        let bytes = String(name.drop { $0 == "." }).utf8.prefix(200)
        return (try? DomainName(String(decoding: bytes, as: UTF8.self))) ?? unknown
    }()

    private static let unknown = (try? DomainName("unknown-program")) ?? .global
}

extension UserDefaults {
    /// The name of the domain of `standard`: the executable's name, unless the program sets another.
    ///
    /// Set it before creating the first instance without a suite name. A different name that is set later, or text that
    /// can't name a domain, has no effect and is reported to the handler of `setProblemHandler(_:)`.
    public static var applicationIdentifier: String {
        get { ApplicationIdentifier.current.description }
        set {
            do throws(DefaultsError) {
                try ApplicationIdentifier.choose(try DomainName(ofFile: newValue))
            } catch {
                ProblemHandler.report(DefaultsProblem(.name, because: error))
            }
        }
    }
}
#endif
