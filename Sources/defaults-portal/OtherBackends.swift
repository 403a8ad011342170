#if Portal
import FoundationEssentials
import Glibc
import Linux

/// The other backends for settings that are installed beside this one.
///
/// A file alone proves nothing, since D-Bus may not know the name. It lists a name as activatable if there is a
/// `.service` file for it, whether or not the program in that file exists.
enum OtherBackends {
    /// Returns the names on D-Bus that the files of other backends give; `nil` if a file or directory can't be read.
    static func names() -> Set<String>? {
        let variables = ProcessInfo.processInfo.environment
        func value(_ name: String) -> String? { variables[name].flatMap { $0.isEmpty ? nil : $0 } }
        var directories: [String]
        if let directory = variables["XDG_DESKTOP_PORTAL_DIR"] {
            directories = [directory]
        } else {
            let home = value("XDG_DATA_HOME") ?? value("HOME").map { "\($0)/.local/share" }
            let data = value("XDG_DATA_DIRS") ?? "/usr/local/share:/usr/share"
            directories = ([home].compactMap(\.self) + data.split(separator: ":").map(String.init) + ["/usr/share"])
                .map { "\($0)/xdg-desktop-portal/portals" }
        }
        var names: Set<String> = []
        for directory in directories {
            do throws(SystemCall.Failure) {
                for path in try files(in: directory) {
                    let text = String(decoding: try contents(of: path), as: UTF8.self)
                    if let name = Self.name(in: text) { names.insert(name) }
                }
            } catch {
                return nil
            }
        }
        return names
    }

    /// Returns the paths of other backends' files in a directory; none if it doesn't exist.
    private static func files(in directory: String) throws(SystemCall.Failure) -> [String] {
        var paths: [String] = []
        do throws(SystemCall.Failure) {
            let listing = try DirectoryListing(directory)
            while let entry = try listing.next() {
                guard let name = entry.name, name.hasSuffix(".portal"), name != "defaultsd.portal" else { continue }
                paths.append("\(directory)/\(name)")
            }
        } catch {
            if error.number != ENOENT, error.number != ENOTDIR { throw error }
        }
        return paths
    }

    /// Returns the bytes of a file; none if it doesn't exist.
    private static func contents(of path: String) throws(SystemCall.Failure) -> [UInt8] {
        var bytes: [UInt8] = []
        do throws(SystemCall.Failure) {
            let file = try FileDescriptor(opening: path, O_RDONLY | O_NONBLOCK)
            while true {
                let part = try file.read(upTo: 1 << 16)
                if part.isEmpty { return bytes }
                bytes += part
            }
        } catch {
            if error.number != ENOENT, error.number != ENOTDIR { throw error }
            return []
        }
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
