import DefaultsCore
import Linux

/// The backend that GSettings uses, and the programs that use it or dconf.
struct GSettingsStatus {
    let selector: GSettingsSwitch
    /// The backend that this command's environment names in place of the switch.
    let variable: String?
    /// Whether GIO finds the backend; `nil` if that is unknown.
    let isInstalled: Bool?
    let programs: [GSettingsProgram]

    init(_ environment: Environment) throws(DefaultsError) {
        selector = try GSettingsSwitch(environment)
        variable = environment["GSETTINGS_BACKEND"]
        if let converter = GSettingsConverter() {
            isInstalled = (try? converter.backends()).map { $0.contains("defaultsd") }
        } else {
            isInstalled = false
        }
        programs = GSettingsProgram.all()
    }

    private var module: String {
        switch isInstalled {
        case true?: "installed"
        case false?: "not installed"
        case nil: "unknown"
        }
    }

    /// The status as lines with a title each, and a line for each program.
    var text: String {
        let switched = selector.time.map { "defaultsd, since \(ChangeText.moment($0))" } ?? "not defaultsd"
        var lines = [
            ("selected", switched), ("switch", selector.path), ("module", module),
        ]
        if let variable { lines.append(("variable", "GSETTINGS_BACKEND=\(variable) overrides the switch here")) }
        for program in programs {
            if program.usesDefaultsd { lines.append(("defaultsd", program.title)) }
            if let reason = program.dconf {
                lines.append(("dconf", "\(program.title)\(selector.isOn ? ", \(reason.text)" : "")"))
            }
        }
        return lines.map { "\($0.0.padded(to: 11))\($0.1.printable)\n" }.joined()
    }

    /// The status as a JSON object.
    var json: String {
        JSONText.object([
            ("isEnabled", selector.isOn ? "true" : "false"), ("switch", JSONText.string(selector.path)),
            ("isInstalled", isInstalled.map { $0 ? "true" : "false" } ?? "null"),
            ("variable", variable.map(JSONText.string) ?? "null"),
            (
                "programs",
                ChangeJSON.list(
                    programs.map { program in
                        JSONText.object([
                            ("pid", "\(program.pid)"), ("name", JSONText.string(program.name)),
                            ("usesDefaultsd", program.usesDefaultsd ? "true" : "false"),
                            ("dconf", program.dconf.map { JSONText.string($0.rawValue) } ?? "null"),
                        ])
                    })
            ),
        ])
    }
}

extension GSettingsProgram.Reason {
    /// The reason, after a comma.
    var text: String {
        switch self {
        case .library: "whose library it uses"
        case .variable: "by its GSETTINGS_BACKEND"
        case .unloaded: "since it hasn't loaded the backend"
        case .started: "since it was started before, or has another HOME or XDG_CONFIG_HOME"
        }
    }

    /// A sentence about what to do.
    var remedy: String {
        switch self {
        case .library: "No action helps: it always uses dconf. Change such settings elsewhere."
        case .variable: "Remove GSETTINGS_BACKEND from its environment, and start it again."
        case .unloaded:
            "Start it again, or log out and in again. If that doesn't help, it is in a sandbox that has no backend."
        case .started:
            "Start it again, or log out and in again. If that doesn't help, its HOME or XDG_CONFIG_HOME isn't yours."
        }
    }
}
