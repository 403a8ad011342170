import DefaultsCore

/// The programs that use dconf although GSettings is switched to the agent.
enum GSettingsExamination {
    /// Returns what keeps the switch from taking effect; nothing if it is off.
    static func findings(_ environment: Environment) -> [Finding] {
        guard let selector = try? GSettingsSwitch(environment), selector.isOn,
            let status = try? GSettingsStatus(environment)
        else { return [] }
        if status.isInstalled == false {
            return [
                Finding(
                    .problem, id: "gsettings-module",
                    message: "GSettings is switched to defaultsd, but its backend isn't installed, so programs use "
                        + "dconf.",
                    remedy: GSettingsConverter.installation, path: selector.path)
            ]
        }
        return status.programs.compactMap { program in
            program.dconf.map { reason in
                Finding(
                    reason == .library ? .note : .warning, id: "gsettings-dconf",
                    message: "\(program.title) uses dconf, although GSettings is switched to defaultsd.",
                    remedy: reason.remedy)
            }
        }
    }
}
