import DefaultsCore
import Glibc
import Linux

/// The preferences directory and the agent's socket, each with the option, variable or setting that selected it.
struct ServedLocation {
    /// The option, variable or setting that names a path.
    enum Source: String {
        case directoryOption = "--directory"
        case socketOption = "--socket"
        case directoryVariable = "DEFAULTS_DIRECTORY"
        case socketVariable = "DEFAULTSD_SOCKET"
        case directorySetting = "Directory"
        case configurationHome = "XDG_CONFIG_HOME"
        case runtimeDirectory = "XDG_RUNTIME_DIR"
        /// Nothing names the path.
        case standard = "default"

        /// The source as part of a sentence.
        var description: String {
            switch self {
            case .directorySetting: "the setting Directory of \(AgentSettings.domainName)"
            case .standard: "the default"
            default: rawValue
            }
        }
    }

    /// The directory; `nil` if it is unknown.
    private(set) var directory: PreferencesDirectory?
    private(set) var directorySource = Source.standard
    /// The agent's address; `nil` if it is unknown.
    private(set) var address: AgentAddress?
    private(set) var socketSource = Source.standard
    /// The findings about either.
    private(set) var findings: [Finding] = []

    /// Finds the directory and the socket as every other verb does.
    init(directory option: String?, socket: String?, environment: Environment) {
        do throws(DefaultsError) {
            let directory = try PreferencesDirectory(option: option, environment: environment)
            self.directory = directory
            directorySource = Self.source(of: directory, option: option, environment)
            if let problem = directory.settingsProblem {
                findings.add(
                    .warning, id: "setting-invalid", problem,
                    remedy: "Correct the settings: run `defaults edit \(AgentSettings.domainName)`.")
            }
        } catch {
            findings.add(
                .problem, id: "directory-unknown", error,
                remedy: "Name the directory with --directory or DEFAULTS_DIRECTORY.")
            return
        }
        guard let directory else { return }
        do throws(DefaultsError) {
            let address = try AgentAddress(option: socket, for: directory, environment: environment)
            self.address = address
            socketSource = Self.source(ofSocketFrom: socket, environment)
            if let problem = address.problem { findings.append(Self.finding(ofSocket: address.socketPath, problem)) }
        } catch {
            findings.append(Self.finding(ofSocket: socket ?? environment["DEFAULTSD_SOCKET"], error))
        }
    }

    /// The directory and the address, if both are known.
    var both: (directory: PreferencesDirectory, address: AgentAddress)? {
        guard let directory, let address else { return nil }
        return (directory, address)
    }

    private static func finding(ofSocket path: String?, _ error: DefaultsError) -> Finding {
        Finding(
            .problem, id: "socket-unusable", error,
            remedy: "Choose another socket with --socket or DEFAULTSD_SOCKET.", path: path)
    }

    private static func source(
        of directory: PreferencesDirectory, option: String?, _ environment: Environment
    ) -> Source {
        if option != nil { return .directoryOption }
        if environment["DEFAULTS_DIRECTORY"] != nil { return .directoryVariable }
        if directory.isExplicit { return .directorySetting }
        return environment["XDG_CONFIG_HOME"].map(Path.isAbsolute) == true ? .configurationHome : .standard
    }

    private static func source(ofSocketFrom option: String?, _ environment: Environment) -> Source {
        if option != nil { return .socketOption }
        if environment["DEFAULTSD_SOCKET"] != nil { return .socketVariable }
        return environment["XDG_RUNTIME_DIR"].map(Path.isAbsolute) == true ? .runtimeDirectory : .standard
    }
}

/// The directory in which programs find the agent's socket, unless the user names the socket.
enum RuntimeDirectory: Equatable {
    case usable
    /// `XDG_RUNTIME_DIR` isn't set, or is a relative path, which is ignored.
    case unset(value: String?)
    case missing(String)
    /// It exists, but isn't a directory in which the user can create files.
    case unusable(String)
    /// It belongs to another user, as after `su`.
    case foreign(String, owner: uid_t)

    init(_ environment: Environment) {
        guard let path = environment["XDG_RUNTIME_DIR"], Path.isAbsolute(path) else {
            self = .unset(value: environment["XDG_RUNTIME_DIR"])
            return
        }
        var status = stat()
        if stat(path, &status) != 0, errno == ENOENT {
            self = .missing(path)
        } else if !status.isDirectory || faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) != 0 {
            self = .unusable(path)
        } else {
            self = status.isOwn ? .usable : .foreign(path, owner: status.st_uid)
        }
    }

    /// Returns the problems of the directory, which are only notes if the user named the socket.
    ///
    /// Without a runtime directory, the socket may be in `/tmp`.
    func findings(socketPath: String, isSocketNamed: Bool) -> [Finding] {
        let remedy =
            "Log in through pam_systemd, which creates the directory and sets the variable (`loginctl enable-linger` "
            + "keeps the directory after logout), or set the variable to a directory of your own."
        let severity = isSocketNamed ? Finding.Severity.note : .warning
        func finding(_ severity: Finding.Severity, id: String, _ what: String, path: String? = nil) -> [Finding] {
            [Finding(severity, id: id, "XDG_RUNTIME_DIR \(what)", remedy: remedy, path: path)]
        }
        switch self {
        case .usable: return []
        case .unset(let value):
            let isTemporary = socketPath.utf8.starts(with: "/tmp/".utf8) && !isSocketNamed
            let consequence =
                isSocketNamed
                ? "" : " The socket is \(socketPath); programs in whose environment it is set look elsewhere."
            let what = (value.map { "is \($0), a relative path, which is ignored." } ?? "isn't set.") + consequence
            return finding(isTemporary || value != nil ? severity : .note, id: "runtime-directory-unset", what)
        case .missing(let path):
            return finding(severity, id: "runtime-directory-missing", "is \(path), which doesn't exist.", path: path)
        case .unusable(let path):
            return finding(
                severity, id: "runtime-directory-unusable", "is \(path), in which you can't create files.", path: path)
        case .foreign(let path, let owner):
            return finding(
                severity, id: "runtime-directory-foreign",
                "is \(path), which belongs to user ID \(owner), not to you (\(geteuid())).",
                path: path)
        }
    }
}
