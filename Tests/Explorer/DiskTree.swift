import CExplorer
import CLinux
import DefaultsCore
import Glibc
import TestSupport

/// The files below a directory: their names, contents, permissions, links and extended attributes.
struct DiskTree: Hashable {
    /// The kind of an inode.
    enum Kind: Hashable {
        case directory
        case file
        case link(target: String)
    }

    struct Inode: Hashable {
        var kind: Kind
        var mode: mode_t
        var bytes: [UInt8] = []
        var attributes: [String: [UInt8]] = [:]
        /// The times of the last modification and the last change, in nanoseconds since 1970.
        var modified: Int64 = 0
        var changed: Int64 = 0
        /// The number that the system had given it, and the time of its creation.
        var number: UInt64 = 0
        var born: Int64 = 0
    }

    /// The inodes, by path below the directory, and their contents, by number.
    var names: [String: UInt64] = [:]
    var inodes: [UInt64: Inode] = [:]
    /// The directory's own inode.
    private(set) var root: UInt64

    /// The attributes that the programs set.
    static let attributes = ["user.defaultsd.published", "user.defaultsd.size"]

    /// The same tree, for a comparison of names and contents.
    var withoutTimes: DiskTree {
        var tree = self
        for number in inodes.keys {
            tree.inodes[number]?.modified = 0
            tree.inodes[number]?.changed = 0
            tree.inodes[number]?.number = 0
            tree.inodes[number]?.born = 0
        }
        return tree
    }

    /// The same tree, for a comparison with that of another process, whose temporary files have other names.
    var withoutChance: DiskTree {
        let plain = withoutTimes
        var tree = plain
        (tree.names, tree.inodes, tree.root) = ([:], [:], 0)
        var numbers: [UInt64: UInt64] = [:]
        for (path, number) in names.sorted(by: { $0.key < $1.key }) {
            let same = numbers[number] ?? UInt64(numbers.count)
            numbers[number] = same
            var name = path.replacing(#/[0-9A-Za-z]*[0-9][0-9A-Za-z]*/#, with: "#")
            while tree.names[name] != nil { name += "#" }
            tree.names[name] = same
            tree.inodes[same] = plain.inodes[number]
            // One of them has hashes and times.
            tree.inodes[same]?.attributes = inodes[number]?.attributes.mapValues { _ in [] } ?? [:]
        }
        return tree
    }

    /// Reads the tree below a directory.
    init(reading root: String) throws {
        self.root = UInt64(try RawFile.status(root).st_ino)
        try read(root, "")
    }

    private mutating func read(_ root: String, _ path: String) throws {
        for name in namesOfFiles(in: root + path) {
            let path = "\(path)/\(name)"
            let status = try RawFile.status(root + path)
            names[path] = UInt64(status.st_ino)
            var inode = Inode(
                kind: .file, mode: status.st_mode & 0o7777, modified: Self.nanoseconds(status.st_mtim),
                changed: Self.nanoseconds(status.st_ctim))
            switch status.st_mode & S_IFMT {
            case S_IFDIR: inode.kind = .directory
            case S_IFLNK:
                var buffer = [UInt8](repeating: 0, count: 4_096)
                let count = readlink(root + path, &buffer, buffer.count)
                inode.kind = .link(target: String(decoding: buffer.prefix(max(0, count)), as: UTF8.self))
            case S_IFREG:
                inode.bytes = try RawFile.read(root + path)
                (inode.attributes, inode.born) = try Self.attributes(of: root + path)
                inode.number = UInt64(status.st_ino)
            default:
                // Sockets don't outlive a system.
                names[path] = nil
                continue
            }
            inodes[UInt64(status.st_ino)] = inode
            if inode.kind == .directory { try read(root, path) }
        }
    }

    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    private static func attributes(of path: String) throws -> ([String: [UInt8]], born: Int64) {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw TestSystemError("open \(path)") }
        defer { close(file) }
        var found: [String: [UInt8]] = [:]
        for name in attributes {
            var value = [UInt8](repeating: 0, count: 4_096)
            let count = linux_attribute(file, name, &value, value.count)
            if count >= 0 { found[name] = Array(value.prefix(count)) }
        }
        return (found, linux_birth_time(file))
    }

    /// Writes the tree into an empty directory.
    ///
    /// - Parameter root: The directory.
    /// - Returns: The former status of the files.
    /// - Throws: The failure of the system call.
    func write(to root: String) throws -> [explorer_restored] {
        var written: [UInt64: String] = [:]
        for (path, number) in names.sorted(by: { $0.key < $1.key }) {
            guard let inode = inodes[number] else { continue }
            let full = root + path
            switch inode.kind {
            case .directory: try RawFile.makeDirectory(full, mode: inode.mode)
            case .link(let target): if symlink(target, full) != 0 { throw TestSystemError("symlink \(full)") }
            case .file:
                if let first = written[number] {
                    guard link(first, full) == 0 else { throw TestSystemError("link \(full)") }
                    continue
                }
                written[number] = full
                let file = open(full, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
                guard file >= 0 else { throw TestSystemError("create \(full)") }
                defer { close(file) }
                try RawFile.write(inode.bytes, to: file)
                for (name, value) in inode.attributes { linux_set_attribute(file, name, value, value.count) }
                fchmod(file, inode.mode)
            }
        }
        return try names.compactMap { path, number in
            guard let inode = inodes[number], inode.kind == .file else { return nil }
            let status = try RawFile.status(root + path)
            return explorer_restored(
                inode: UInt64(status.st_ino), restored: Self.nanoseconds(status.st_ctim), former: inode.number,
                born: inode.born, modified: inode.modified, changed: inode.changed)
        }
    }
}
