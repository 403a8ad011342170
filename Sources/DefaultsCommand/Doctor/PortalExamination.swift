import DefaultsCore
import Glibc
import Linux

/// The desktop's settings portal, as `defaults-portal` sees it.
enum PortalExamination {
    /// Returns what is wrong with preferences that are settings, and whether programs get them.
    static func findings(_ environment: Environment) -> [Finding] {
        let prefix = Path.directory(of: Path.directory(of: AppIdentity.current.executable))
        let program = "\(prefix)/libexec/defaults-portal"
        guard environment["DBUS_SESSION_BUS_ADDRESS"] != nil, Path.isProgram(program),
            case .ended(let status, let problems)? = try? ProgramOutput.of(
                program, [program, "--check"], within: .seconds(5))
        else { return [] }
        let findings = problems.split(separator: "\n").map { problem in
            Finding(
                .warning, id: "portal-preference", message: "\(problem)",
                remedy: "Correct it; the page \"Let the desktop follow preferences\" describes the settings.")
        }
        if status != 1 { return findings }
        let configuration = environment["XDG_CONFIG_HOME"] ?? environment.home.map { "\($0)/.config" } ?? "~/.config"
        let file = "\(configuration)/xdg-desktop-portal/portals.conf"
        let backends = "/usr/share/xdg-desktop-portal/portals"
        let ours = "\(prefix)/share/xdg-desktop-portal/portals/defaultsd.portal"
        let mustCopy = access("\(backends)/defaultsd.portal", F_OK) != 0 && access(ours, F_OK) == 0
        let copy = mustCopy ? "Run `sudo cp \(ours) \(backends)/`. " : ""
        return findings + [
            Finding(
                .note, id: "portal-unused",
                message:
                    "The desktop's portal doesn't ask defaults-portal first, so programs don't follow preferences such "
                    + "as AppleInterfaceStyle.",
                remedy: "\(copy)\(choice(file: file, backends: backends)) Then log in again.", path: file)
        ]
    }

    /// Returns how the installed version of the portal is told to ask ours first; both ways if it is unknown.
    private static func choice(file: String, backends: String) -> String {
        let later =
            "add the lines `[preferred]` and `org.freedesktop.impl.portal.Settings=defaultsd;gtk` to \(file)."
        let earlier = "add your desktop to the line `UseIn=` of \(backends)/defaultsd.portal."
        func sentence(_ text: String) -> String { text.prefix(1).uppercased() + text.dropFirst() }
        return switch usesConfiguration {
        case true?: sentence(later)
        case false?: sentence(earlier)
        case nil: "With xdg-desktop-portal 1.17 or later, \(later) With an earlier version, \(earlier)"
        }
    }

    /// Whether the installed portal is version 1.17 or later, which reads `portals.conf`; `nil` if it isn't found.
    private static var usesConfiguration: Bool? {
        for program in ["/usr/libexec/xdg-desktop-portal", "/usr/lib/xdg-desktop-portal"] where Path.isProgram(program)
        {
            guard
                case .ended(0, let text)? = try? ProgramOutput.of(program, [program, "--version"], within: .seconds(1)),
                let version = text.split(whereSeparator: \.isWhitespace).last
            else { continue }
            let numbers = version.split(separator: ".").map { Int($0) ?? 0 }
            if numbers.count >= 2 { return (numbers[0], numbers[1]) >= (1, 17) }
        }
        return nil
    }
}
