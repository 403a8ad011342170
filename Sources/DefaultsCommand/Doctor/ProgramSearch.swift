import DefaultsCore
import Glibc
import Linux

/// The programs named `defaults` and `defaultsd` that a shell and this command find.
struct ProgramSearch {
    /// A program named `defaults` in the PATH.
    struct Command: Equatable {
        enum Kind: Equatable {
            /// This command.
            case own
            case gnustep
            case other
        }
        let path: String
        let kind: Kind
    }

    /// The path of this command.
    let command: String
    /// The programs named `defaults`, in the order of the PATH.
    let commands: [Command]
    /// The path of the `defaultsd` that `defaults tail` would start: beside this command, or else in the PATH.
    let agent: String?

    init(command: String, commands: [Command], agent: String?) {
        (self.command, self.commands, self.agent) = (command, commands, agent)
    }

    /// Searches the PATH of an environment.
    init(_ environment: Environment) {
        let command = AppIdentity.current.executable
        let directories = (environment["PATH"] ?? "").split(separator: ":").map(String.init)
        let own = try? FileStatus(at: "/proc/self/exe")
        var seen: [FileStatus] = []
        let commands = directories.map { "\($0)/defaults" }.compactMap { path -> Command? in
            guard Path.isProgram(path), let status = try? FileStatus(at: path), !seen.contains(where: status.isSame)
            else { return nil }
            seen.append(status)
            let isOwn = own.map(status.isSame) ?? false
            return Command(path: path, kind: isOwn ? .own : Self.isGNUstep(path) ? .gnustep : .other)
        }
        let agents = ([Path.directory(of: command)] + directories).map { "\($0)/defaultsd" }
        self.init(command: command, commands: commands, agent: agents.first(where: Path.isProgram))
    }

    /// Returns whether a program is linked with GNUstep's library.
    private static func isGNUstep(_ path: String) -> Bool {
        guard let file = try? FileDescriptor(opening: path, O_RDONLY | O_NONBLOCK),
            let bytes = try? file.read(upTo: 1 << 18)
        else { return false }
        let name = Array("libgnustep-base".utf8)
        return bytes.indices.contains { bytes[$0] == name[0] && bytes[$0...].starts(with: name) }
    }

    /// Returns the problems with the programs.
    @FindingList
    func findings(agentRuns: Bool) -> [Finding] {
        let own = commands.firstIndex { $0.kind == .own }
        for (index, other) in commands.enumerated() where other.kind != .own {
            let isFirst = own.map { index < $0 } ?? true
            let name = other.kind == .gnustep ? "GNUstep's `defaults`" : "Another `defaults`"
            let place =
                own == nil
                ? "is in your PATH, but this one (\(command)) isn't"
                : isFirst ? "comes before this one (\(command)) in your PATH" : "comes after this one in your PATH"
            let uninstalling = other.kind == .gnustep ? "uninstall gnustep-base-runtime" : "remove the other"
            Finding(
                isFirst ? .warning : .note, id: isFirst ? "command-shadowed" : "command-elsewhere",
                message: "\(name), \(other.path), \(place).",
                remedy: isFirst
                    ? "Put \(Path.directory(of: command)) before \(Path.directory(of: other.path)) in your PATH, "
                        + "\(uninstalling), or call this one by its path."
                    : "No action is needed, unless a program calls it by its path; then \(uninstalling).",
                path: other.path)
        }
        if own == nil, commands.isEmpty {
            Finding(
                .note, id: "command-not-in-path", message: "This command, \(command), isn't in your PATH.",
                remedy: "Add \(Path.directory(of: command)) to your PATH.", path: command)
        }
        if agent == nil {
            Finding(
                agentRuns ? .note : .warning, id: "agent-not-installed",
                message:
                    "There is no `defaultsd` in \(Path.directory(of: command)) or in your PATH, so `defaults tail` "
                    + "can't start an agent.",
                remedy: "Install it. In a checkout, run `swift build --product defaultsd`.")
        }
    }
}
