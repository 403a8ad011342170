#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// A user's home directory, for paths that begin with "~".
struct HomeDirectory {
    /// The absolute path, without a trailing slash; `nil` if the user has no home directory, or if it is the root
    /// directory.
    private let path: String?

    private static let separator = UInt8(ascii: "/")

    init(path: String?) {
        var path = (path ?? "").utf8[...]
        while path.count > 1, path.last == Self.separator { path = path.dropLast() }
        self.path = path.first == Self.separator && path.count > 1 ? String(Substring(path)) : nil
    }

    /// Returns "~/x" for a path below the home directory, and any other path unchanged.
    func abbreviate(_ path: String) -> String {
        guard let home = self.path, path.utf8.starts(with: home.utf8) else { return path }
        let rest = String(decoding: path.utf8.dropFirst(home.utf8.count), as: UTF8.self)
        return rest.isEmpty || rest.utf8.first == Self.separator ? "~" + rest : path
    }

    /// Returns the expansion of "~", "~/x", "~user" or "~user/x", or any other path unchanged; `nil` if there is no
    /// such user.
    func expand(_ path: String) -> String? {
        guard path.utf8.first == UInt8(ascii: "~") else { return path }
        let user = path.utf8.dropFirst().prefix { $0 != Self.separator }
        let rest = String(decoding: path.utf8.dropFirst(1 + user.count), as: UTF8.self)
        let home = user.isEmpty ? self.path : Self.home(of: String(decoding: user, as: UTF8.self))
        return home.map { $0 + rest }
    }

    private static func home(of user: String) -> String? {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 1 << 14) { buffer in
            guard let space = buffer.baseAddress, getpwnam_r(user, &entry, space, buffer.count, &found) == 0,
                found != nil
            else { return nil }
            return entry.pw_dir.map { String(cString: $0) }
        }
    }
}
