import Glibc
import Linux

/// A process's environment variables, wrapped in a value so that tests can pass their own.
package struct Environment: Sendable {
    /// All variables by name.
    package let variables: [String: String]

    package init(_ variables: [String: String]) {
        self.variables = variables
    }

    /// The current variables of this process.
    package static var current: Environment {
        var variables: [String: String] = [:]
        var next = environ
        while let entry = next.pointee {
            let text = String(cString: entry)
            if let equals = text.firstIndex(of: "=") {
                variables[String(text[..<equals])] = String(text[text.index(after: equals)...])
            }
            next += 1
        }
        return Environment(variables)
    }

    /// A variable's value; `nil` if it is unset or empty.
    package subscript(name: String) -> String? {
        variables[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The user's home directory: `HOME`, or else the directory in the user database.
    package var home: String? {
        if let home = self["HOME"], Path.isAbsolute(home) { return home }
        // To query other user databases, a static executable, such as a static build of the command, must load modules
        // of the C library. So try `/etc/passwd` first.
        if let home = Self.homeInPasswordFile() { return home }
        guard let entry = getpwuid(getuid()), let directory = entry.pointee.pw_dir else { return nil }
        return String(cString: directory)
    }

    /// Returns the user's home directory from `/etc/passwd`; `nil` if the user is in another database.
    private static func homeInPasswordFile() -> String? {
        guard let bytes = try? FileDescriptor(opening: "/etc/passwd", O_RDONLY).read(upTo: 1 << 20) else { return nil }
        let user = String(getuid())
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            let fields = line.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
            guard fields.count == 7, fields[2].elementsEqual(user.utf8), fields[5].first == UInt8(ascii: "/") else {
                continue
            }
            return String(decoding: fields[5], as: UTF8.self)
        }
        return nil
    }

    /// Returns a path with the home directory in place of "~/" at its beginning.
    package func expandingTilde(_ path: String) -> String {
        guard path.utf8.starts(with: "~/".utf8), let home else { return path }
        return home + String(Substring(path.utf8.dropFirst()))
    }
}
