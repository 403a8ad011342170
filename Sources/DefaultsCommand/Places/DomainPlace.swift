package import DefaultsCore
import Glibc
import Linux

/// Where a domain is: in the preferences directory, or in a file anywhere else.
package struct DomainPlace: Hashable {
    /// The domain, of the preferences directory or of `directory`.
    let domain: Domain
    /// The directory of a file that isn't in the preferences directory; `nil` for what is.
    let directory: PreferencesDirectory?
    /// The sentence that says what an edit is made of, where that may be a surprise.
    private(set) var note: String?

    /// Names a domain of the preferences directory, or of another.
    package init(_ domain: Domain, directory: PreferencesDirectory? = nil) {
        self.domain = domain
        self.directory = directory
    }

    /// Reads the name of a domain or the path of a file, which begins with `/`, `./`, `../` or `~/`.
    ///
    /// - Parameters:
    ///   - argument: the name or the path, with or without `.plist`.
    ///   - host: the host that was asked for; a path has its own.
    ///   - preferences: the preferences directory, whose files are its domains.
    /// - Throws: what is wrong with the name, or with a host beside a path.
    init(_ argument: String, host: DomainHost, in preferences: PreferencesDirectory) throws {
        if ByteArgument.isOne(argument) { throw ByteArgument.failure(argument) }
        guard Self.isPath(argument) else {
            // Most likely an unset variable in a script.
            if argument.isEmpty { _ = try DomainName(argument) }
            // As Apple's tool calls it; any other text names the domain that it names in a program.
            let isGlobal = argument == "Apple Global Domain"
            let domain = Domain(isGlobal ? .global : DomainName(escaping: argument), host: host)
            // Such a name is likely a mistake, but one that is there is meant.
            let isNew = access(preferences.path(of: domain), F_OK) != 0
            if isNew, argument.hasSuffix(".plist") || Path.hasSeparator(argument) && Self.isFile(argument) {
                let near = Domain(fileName: argument).map { ", and the domain is \"\($0.name)\"" } ?? ""
                throw Failure("\"\(argument)\" is a file's name: ./\(argument) is that file\(near).", .usage)
            }
            self.init(domain)
            if isNew, Path.hasSeparator(argument) {
                note = "\(argument) is the domain \(domain). For the file of that path, type ./\(argument)."
            }
            return
        }
        if host != .any {
            throw Failure("A path names one file; leave -host and -currentHost away with \(argument).", .usage)
        }
        var path = Environment.current.expandingTilde(argument)
        if !path.hasSuffix(".plist") { path += ".plist" }
        guard let found = preferences.domain(at: path) else {
            let name = Path.lastName(of: path)
            if name == ".plist" { throw Failure("\(argument) names a directory, and no file in it.", .usage) }
            // Which rule the name breaks.
            _ = try DomainName(String(name.dropLast(".plist".count)))
            throw Failure("\(path) can't be a domain's file; rename it, or use `import` and `export`.", .usage)
        }
        self.init(found.domain, directory: found.elsewhere)
        if let directory, Path.names(of: argument).contains("..") {
            note = "\(argument) is outside the preferences directory: it is the file \(directory.path(of: domain))."
        }
    }

    /// Whether a path, with or without ".plist", leads to something.
    private static func isFile(_ path: String) -> Bool {
        access(path, F_OK) == 0 || access(path + ".plist", F_OK) == 0
    }

    /// Whether an argument is the path of a file, not the name of a domain.
    static func isPath(_ argument: String) -> Bool {
        ["/", "./", "../", "~/"].contains { argument.utf8.starts(with: $0.utf8) }
    }

    /// The place as a sentence has it in its middle.
    var name: String { directory.map { "the file \($0.path(of: domain))" } ?? "the domain \(domain)" }
    /// The place as a sentence begins with it.
    var subject: String { directory.map { "The file \($0.path(of: domain))" } ?? "The domain \(domain)" }
}
