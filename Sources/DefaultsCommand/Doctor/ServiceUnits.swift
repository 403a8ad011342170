import DefaultsCore
import Glibc

/// The agent's units in the user's systemd.
enum ServiceUnits: Equatable {
    /// No service manager of the user runs, or systemd isn't installed.
    case absent
    /// The service manager doesn't answer.
    case silent
    case known([Unit])

    /// A unit, with its properties as `systemctl show` prints them.
    struct Unit: Equatable {
        var name = ""
        /// Such as "loaded" or "not-found".
        var loadState = ""
        /// Such as "active", "inactive" or "failed".
        var activeState = ""
        /// Such as "enabled", "disabled" or "static".
        var fileState = ""
        /// The reason for a failure, such as "exit-code".
        var result = ""

        /// Whether the unit is installed.
        var isThere: Bool { loadState == "loaded" }
    }

    private static let names = ["defaultsd.socket", "defaultsd.service"]

    /// Asks the user's service manager, if one runs.
    init(_ environment: Environment) {
        guard let directory = environment["XDG_RUNTIME_DIR"], access("\(directory)/systemd/private", F_OK) == 0 else {
            self = .absent
            return
        }
        let arguments = ["systemctl", "--user", "--no-pager", "show"]
        let properties = "--property=Id,LoadState,ActiveState,UnitFileState,Result"
        switch try? ProgramOutput.of("systemctl", arguments + [properties] + Self.names, within: .seconds(1)) {
        case nil: self = .absent
        case .timeout: self = .silent
        case .ended(0, let text): self = .known(Self.units(in: text))
        case .ended: self = .absent
        }
    }

    /// Parses the output of `systemctl show`: a paragraph of `Name=value` lines for each unit.
    static func units(in text: String) -> [Unit] {
        let properties: [Substring: WritableKeyPath<Unit, String>] = [
            "Id": \.name, "LoadState": \.loadState, "ActiveState": \.activeState, "UnitFileState": \.fileState,
            "Result": \.result,
        ]
        return text.split(separator: "\n\n").map { paragraph in
            paragraph.split(separator: "\n").reduce(into: Unit()) { unit, line in
                let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                if parts.count == 2, let property = properties[parts[0]] { unit[keyPath: property] = String(parts[1]) }
            }
        }
    }

    /// The command that starts an agent, or has the first client start it.
    var startCommand: String {
        guard case .known(let units) = self, units.contains(where: { $0.name == Self.names[0] && $0.isThere }) else {
            return "defaultsd"
        }
        return "systemctl --user start \(Self.names[0])"
    }

    /// Examines the units.
    ///
    /// - Parameters:
    ///   - agentRuns: Whether an agent answers.
    ///   - socketPath: The path of the socket at which clients look for the agent, if it is the usual one.
    /// - Returns: The problems.
    func findings(agentRuns: Bool, socketPath: String? = nil) -> [Finding] {
        switch self {
        case .absent: return []
        case .silent:
            return [
                Finding(
                    .warning, id: "systemd-silent", message: "`systemctl --user` did not answer within 1 s.",
                    remedy: "Run `systemctl --user status` to see what your service manager is doing.")
            ]
        case .known(let units):
            let units = units.filter(\.isThere)
            return units.compactMap { Self.finding($0, agentRuns: agentRuns) }
                + units.compactMap { Self.missingFile(of: $0, socketPath) }
        }
    }

    /// Returns a problem if systemd listens on a socket whose file has been removed, so that no client finds it.
    private static func missingFile(of unit: Unit, _ path: String?) -> Finding? {
        guard unit.name.hasSuffix(".socket"), unit.activeState == "active", let path, access(path, F_OK) != 0 else {
            return nil
        }
        return Finding(
            .problem, id: "socket-removed",
            message:
                "The systemd unit \(unit.name) is active, but its socket \(path) has been removed, so no agent "
                + "starts when a program needs one.",
            remedy: "Run `systemctl --user restart \(unit.name)`.", path: path)
    }

    private static func finding(_ unit: Unit, agentRuns: Bool) -> Finding? {
        let name = unit.name
        if unit.activeState == "failed" {
            let reason = unit.result.isEmpty ? "" : " (\(unit.result))"
            return Finding(
                .problem, id: "unit-failed", message: "The systemd unit \(name) has failed\(reason).",
                remedy: "Run `systemctl --user status \(name)` to see why. Then run `systemctl --user reset-failed "
                    + "\(name)` and `systemctl --user restart \(Self.names[0])`.")
        }
        guard name.hasSuffix(".socket"), unit.activeState != "active" else { return nil }
        let isEnabled = unit.fileState == "enabled"
        return Finding(
            isEnabled && !agentRuns ? .warning : .note, id: isEnabled ? "unit-inactive" : "unit-disabled",
            message:
                "The systemd unit \(name) is \(isEnabled ? "enabled, but not active" : "not enabled"), so no agent "
                + "starts when a program needs one.",
            remedy: "Run `systemctl --user enable --now \(name)`.")
    }
}
