import ArgumentParser
import DefaultsCore
import Linux

/// `defaults gsettings enable`, `disable`, `status` and `noise`.
struct GSettingsVerb: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "gsettings",
        abstract: "Use the agent for GNOME's settings.",
        usage: """
            defaults gsettings enable [--prefer <dconf|defaultsd>]
            defaults gsettings disable [--prefer <dconf|defaultsd>]
            defaults gsettings status [--json]
            defaults gsettings noise
            """,
        discussion: """
            GNOME, GTK and many other programs use GSettings, which asks a backend for values, usually dconf. With the \
            backend of the package defaultsd-gsettings-backend, their settings are preferences.

            `enable` imports dconf's values and selects that backend for all your programs, which look for it when \
            they start. dconf's values stay where they are, and a dump is stored. `disable` exports the values to \
            dconf, and returns to it. Both keep a value that is newer on the other side, and name it. If a key has \
            changed on both sides since the last switch, or has two values before the first one, or if one side has \
            lost all values, both change nothing, and list such keys; --prefer says whose values to use. If a switch \
            fails halfway, run it again. Run it once more after the next login, too: it then carries what programs \
            that were running have set on the other side.

            `status` shows what is selected, and which running programs use what. --json prints one object.

            `noise` prints patterns of keys that aren't settings, such as sizes of windows, one a line. `manifest \
            import` marks these keys as such, so that a fleet leaves them out. To keep them out of the history, too, \
            run `defaults gsettings noise | xargs defaults write org.defaultsd.agent HistoryExcludes -array-add`.

            EXAMPLES
              defaults gsettings enable
              defaults gsettings status
              defaults gsettings disable --prefer defaultsd
            """)

    enum Action: String, ExpressibleByArgument, CaseIterable { case enable, disable, status, noise }

    @OptionGroup var location: LocationOptions
    @Option(help: "With enable and disable: the side whose values to use, dconf or defaultsd.")
    var prefer: GSettingsSide?
    @Flag(help: "With status: print JSON.") var json = false
    @Argument(help: "What to do: enable, disable, status or noise.") var action: Action

    func validate() throws {
        if action != .enable, action != .disable, prefer != nil {
            throw ValidationError("--prefer is for enable and disable.")
        }
        if action != .status, json { throw ValidationError("--json is for status.") }
    }

    func run() throws {
        if location.directory != nil || location.socket != nil {
            // The programs don't have the options.
            throw Failure(
                "`defaults gsettings` works on the preferences that your programs use. Don't use --directory or "
                    + "--socket.", .usage)
        }
        switch action {
        case .enable: try GSettingsSwitching(at: location, preferring: prefer).enable()
        case .disable: try GSettingsSwitching(at: location, preferring: prefer).disable()
        case .status:
            let status = try GSettingsStatus(.current)
            try StandardOutput.write(json ? status.json + "\n" : status.text)
        case .noise: try StandardOutput.write(GSettingsNoise.patterns.map { $0 + "\n" }.joined())
        }
    }
}

extension GSettingsSide: ExpressibleByArgument {}
