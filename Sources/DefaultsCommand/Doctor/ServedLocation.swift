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
                findings.append(
                    Finding(
                        .warning, id: "setting-invalid", error: problem,
                        remedy: "Correct the settings: run `defaults edit \(AgentSettings.domainName)`."))
            }
        } catch {
            findings.append(
                Finding(
                    .problem, id: "directory-unknown", error: error,
                    remedy: "Name the directory with --directory or DEFAULTS_DIRECTORY."))
            return
        }
        guard let directory else { return }
        do throws(DefaultsError) {
            let address = try AgentAddress(option: socket, for: directory, environment: environment)
            self.address = address
            socketSource = Self.source(ofSocketFrom: socket, environment)
            if let problem = address.problem {
                findings.append(Self.finding(ofSocket: address.socketPath, for: problem))
            }
        } catch {
            findings.append(Self.finding(ofSocket: socket ?? environment["DEFAULTSD_SOCKET"], for: error))
        }
    }

    /// The directory and the address, if both are known.
    var both: (directory: PreferencesDirectory, address: AgentAddress)? {
        guard let directory, let address else { return nil }
        return (directory, address)
    }

    /// Whether nothing names the directory or the socket but `XDG_RUNTIME_DIR`, which systemd sets for its units, too.
    ///
    /// The units don't take over `XDG_CONFIG_HOME` of a shell.
    var isUsual: Bool { directorySource == .standard && [.standard, .runtimeDirectory].contains(socketSource) }

    private static func finding(ofSocket path: String?, for error: DefaultsError) -> Finding {
        Finding(
            .problem, id: "socket-unusable", error: error,
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
enum RuntimeDirectory {
    /// Returns the problem of the directory, which is only a note if the user named the socket.
    ///
    /// Without a runtime directory, the socket may be in `/tmp`.
    static func finding(in environment: Environment, socketPath: String, isSocketNamed: Bool) -> Finding? {
        func finding(_ name: String, what: String, path: String? = nil, isNote: Bool = isSocketNamed) -> Finding {
            Finding(
                isNote ? .note : .warning, id: "runtime-directory-\(name)", message: "XDG_RUNTIME_DIR \(what)",
                remedy: "Log in through pam_systemd, which creates the directory and sets the variable (`loginctl "
                    + "enable-linger` keeps the directory after logout), or set the variable to a directory of your "
                    + "own.", path: path)
        }
        let value = environment["XDG_RUNTIME_DIR"]
        guard let path = value, Path.isAbsolute(path) else {
            let what = value.map { "is \($0), a relative path, which is ignored." } ?? "isn't set."
            let consequence =
                isSocketNamed
                ? "" : " The socket is \(socketPath); programs in whose environment it is set look elsewhere."
            let isTemporary = socketPath.utf8.starts(with: "/tmp/".utf8)
            return finding(
                "unset", what: what + consequence, isNote: isSocketNamed || !isTemporary && value == nil)
        }
        var status = stat()
        if stat(path, &status) != 0, errno == ENOENT {
            return finding("missing", what: "is \(path), which doesn't exist.", path: path)
        }
        // It may exist without being a directory in which the user can create files.
        if !status.isDirectory || faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) != 0 {
            return finding("unusable", what: "is \(path), in which you can't create files.", path: path)
        }
        if status.isOwn { return nil }
        // As after `su`.
        let what = "is \(path), which belongs to user ID \(status.st_uid), not to you (\(geteuid()))."
        return finding("foreign", what: what, path: path)
    }
}
