package import DefaultsCore
import Glibc
import Linux

/// The location of a domain: in the preferences directory, or in a file elsewhere.
package struct DomainLocation: Hashable {
    /// The domain, in the preferences directory or in `directory`.
    let domain: Domain
    /// The directory of a file outside the preferences directory; `nil` for one inside.
    let directory: PreferencesDirectory?
    /// A sentence to report before an edit, if the argument's meaning may surprise the user.
    private(set) var note: String?

    /// Creates the location of a domain in the preferences directory, or in another one.
    package init(_ domain: Domain, directory: PreferencesDirectory? = nil) {
        self.domain = domain
        self.directory = directory
    }

    /// Reads the name of a domain or the path of a file, which begins with `/`, `./`, `../` or `~/`.
    ///
    /// - Parameters:
    ///   - argument: The name or the path, with or without `.plist`.
    ///   - host: The host chosen by the options; a path implies its own host.
    ///   - preferences: The preferences directory. The path of a file inside names that file's domain.
    /// - Throws: If the name is invalid, or a host was given with a path.
    init(_ argument: String, host: DomainHost, in preferences: PreferencesDirectory) throws {
        if ByteArgument.isOne(argument) { throw ByteArgument.failure(argument) }
        guard Self.isPath(argument) else {
            // An empty name is most likely an unset variable in a script. The initializer throws.
            if argument.isEmpty { _ = try DomainName(argument) }
            // Any text names the same domain as in a program.
            let domain = Domain(DomainName(escaping: argument), host: host)
            // A name that looks like a file's is probably a mistake, unless the domain exists.
            let isNew = access(preferences.path(of: domain), F_OK) != 0
            if isNew, argument.hasSuffix(".plist") || Path.hasSeparator(argument) && Self.isFile(argument) {
                let near = Domain(fileName: argument).map { ", or \"\($0.name)\" for the domain" } ?? ""
                throw Failure("\"\(argument)\" is a file name. Use ./\(argument) for the file\(near).", .usage)
            }
            self.init(domain)
            if isNew, Path.hasSeparator(argument) {
                note = "\(argument) names the domain \(domain). For the file at that path, use ./\(argument)."
            }
            return
        }
        if host != .any {
            throw Failure("The path \(argument) names a single file; remove -host and -currentHost.", .usage)
        }
        var path = Environment.current.expandingTilde(argument)
        if !path.hasSuffix(".plist") { path += ".plist" }
        guard let found = preferences.domain(at: path) else {
            let name = Path.lastName(of: path)
            if name == ".plist" { throw Failure("\(argument) names a directory, not a file.", .usage) }
            // This throws the error for the rule that the name breaks.
            _ = try DomainName(String(name.dropLast(".plist".count)))
            throw Failure("\(path) can't be a domain's file; rename it, or use `import` and `export`.", .usage)
        }
        self.init(found.domain, directory: found.elsewhere)
        if let directory, Path.names(of: argument).contains("..") {
            note = "\(argument) is outside the preferences directory: it is the file \(directory.path(of: domain))."
        }
    }

    /// Returns whether a path exists, with or without ".plist".
    private static func isFile(_ path: String) -> Bool {
        access(path, F_OK) == 0 || access(path + ".plist", F_OK) == 0
    }

    /// Returns whether an argument is the path of a file rather than the name of a domain.
    static func isPath(_ argument: String) -> Bool {
        ["/", "./", "../", "~/"].contains { argument.utf8.starts(with: $0.utf8) }
    }

    /// The description of the location in the middle of a sentence.
    var name: String { directory.map { "the file \($0.path(of: domain))" } ?? "the domain \(domain)" }
    /// The description of the location at the beginning of a sentence.
    var subject: String { directory.map { "The file \($0.path(of: domain))" } ?? "The domain \(domain)" }
}

extension DomainLocation {
    /// The name by which the domain's manifest is found; `nil` for a file outside the preferences directory, such as a
    /// copy, which is no domain's.
    var describedName: DomainName? { directory == nil ? domain.name : nil }
}
