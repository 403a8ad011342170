import DefaultsCore
import Glibc
import Linux

/// The desktop's settings portal, as `defaults-portal` sees it.
enum PortalExamination {
    /// Returns a note if preferences have settings, but the running portal doesn't ask `defaults-portal` for them.
    static func findings(_ environment: Environment) -> [Finding] {
        let prefix = Path.directory(of: Path.directory(of: AppIdentity.current.executable))
        let program = "\(prefix)/libexec/defaults-portal"
        guard environment["DBUS_SESSION_BUS_ADDRESS"] != nil, Path.isProgram(program),
            case .ended(1, _)? = try? ProgramOutput.of(program, [program, "--check"], within: .seconds(5))
        else { return [] }
        let configuration = environment["XDG_CONFIG_HOME"] ?? environment.home.map { "\($0)/.config" } ?? "~/.config"
        let file = "\(configuration)/xdg-desktop-portal/portals.conf"
        let backends = "/usr/share/xdg-desktop-portal/portals"
        let isInstalled = access("\(backends)/defaultsd.portal", F_OK) == 0
        let copy = "Run `sudo cp \(prefix)/share/xdg-desktop-portal/portals/defaultsd.portal \(backends)/`. "
        return [
            Finding(
                .note, id: "portal-unused",
                message: "The desktop's portal doesn't use defaults-portal, so programs don't follow preferences such "
                    + "as AppleInterfaceStyle.",
                remedy: (isInstalled ? "" : copy)
                    + "With xdg-desktop-portal 1.17 or later, add the lines `[preferred]` and "
                    + "`org.freedesktop.impl.portal.Settings=defaultsd;gtk` to \(file). With an earlier version, add "
                    + "your desktop to the line `UseIn=` of \(backends)/defaultsd.portal. Then log in again.",
                path: file)
        ]
    }
}
