import Glibc

/// The environment variables that a process was given, so that tests can pass others.
package struct Environment: Sendable {
    /// All variables by name.
    package let variables: [String: String]

    package init(_ variables: [String: String]) {
        self.variables = variables
    }

    /// The variables of this process, as they are now.
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

    /// A variable's value; one that is set to nothing counts as unset.
    package subscript(name: String) -> String? {
        variables[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The user's home directory: `HOME`, or what the user database says.
    package var home: String? {
        if let home = self["HOME"], home.hasPrefix("/") { return home }
        guard let entry = getpwuid(getuid()), let directory = entry.pointee.pw_dir else { return nil }
        return String(cString: directory)
    }

    /// A path whose "~/" at its beginning is the home directory.
    package func expandingTilde(_ path: String) -> String {
        guard path.hasPrefix("~/"), let home else { return path }
        return home + path.dropFirst()
    }
}
