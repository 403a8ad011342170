import DefaultsCore

/// The keys of GSettings that aren't settings: programs remember in them what happened.
enum GSettingsNoise {
    /// The patterns, in the form of the setting `HistoryExcludes`.
    static let patterns = [
        "org.gtk.*settings.file-chooser/window-*", "org.gtk.*settings.file-chooser/last-folder-uri",
        "org.gtk.*settings.file-chooser/sidebar-width", "org.gtk.*settings.emoji-chooser/recent-emoji",
        "org.gtk.*settings.color-chooser/selected-color",
        "org.gnome.*/window-height", "org.gnome.*/window-maximized", "org.gnome.*/window-position",
        "org.gnome.*/window-size", "org.gnome.*/window-state", "org.gnome.*/window-width",
        "org.gnome.*.window-state/*", "org.gnome.gedit.state.*/*", "org.gnome.*/last-panel",
        "org.gnome.desktop.input-sources/mru-sources", "org.gnome.desktop.notifications/application-children",
        "org.gnome.evolution-data-server.calendar/reminders-past", "org.gnome.evolution-data-server/migrated",
        "org.gnome.settings-daemon.plugins.color/night-light-last-coordinates",
        "org.gnome.settings-daemon.plugins.housekeeping/donation-reminder-last-shown",
        "org.gnome.shell/command-history", "org.gnome.shell/looking-glass-history",
        "org.gnome.shell/welcome-dialog-last-shown-version",
        "org.gnome.software/*-timestamp", "org.gnome.software/first-run",
    ]

    private static let exclusions = HistoryExclusions(patterns)

    /// Returns whether a key isn't a setting.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - domain: The name of its domain, or a pattern of names.
    /// - Returns: Whether a program remembers something in it.
    static func contains(_ key: String, of domain: String) -> Bool {
        exclusions.exclude(key, of: Domain(DomainName(escaping: domain)))
    }
}
