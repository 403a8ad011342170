#if Portal
import FoundationEssentials

/// The other backends for settings that are installed beside this one.
///
/// A file alone proves nothing: the program that it names may be gone, so that D-Bus can't start it.
enum OtherBackends {
    /// Returns the names on D-Bus that the files of other backends give.
    static func names() -> Set<String> {
        let variables = ProcessInfo.processInfo.environment
        var directories: [String]
        if let directory = variables["XDG_DESKTOP_PORTAL_DIR"] {
            directories = [directory]
        } else {
            let home = variables["XDG_DATA_HOME"] ?? variables["HOME"].map { "\($0)/.local/share" }
            let data = variables["XDG_DATA_DIRS"] ?? "/usr/local/share:/usr/share"
            directories = ([home].compactMap(\.self) + data.split(separator: ":").map(String.init) + ["/usr/share"])
                .map { "\($0)/xdg-desktop-portal/portals" }
        }
        return Set(
            directories.flatMap { directory in
                let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
                return names.filter { $0.hasSuffix(".portal") && $0 != "defaultsd.portal" }.compactMap { name in
                    (try? String(contentsOfFile: "\(directory)/\(name)", encoding: .utf8)).flatMap(Self.name)
                }
            })
    }

    /// Returns the name on D-Bus in the text of a backend's file; `nil` if it isn't one for settings.
    static func name(in text: String) -> String? {
        var group = ""
        var entries: [String: String] = [:]
        for line in text.split(whereSeparator: \.isNewline) {
            let line = line.drop { $0 == " " || $0 == "\t" }
            if line.hasPrefix("[") {
                group = String(line.dropFirst().prefix { $0 != "]" })
            } else if group == "portal", !line.hasPrefix("#"), let equals = line.firstIndex(of: "=") {
                let isSpace = { (character: Character) in character == " " || character == "\t" }
                let key = line[..<equals].prefix { !isSpace($0) }
                let value = line[line.index(after: equals)...].drop(while: isSpace)
                entries[String(key)] = String(String(value.reversed().drop(while: isSpace).reversed()))
            }
        }
        let interfaces = entries["Interfaces"]?.split(separator: ";") ?? []
        return interfaces.contains("org.freedesktop.impl.portal.Settings") ? entries["DBusName"] : nil
    }
}
#endif
