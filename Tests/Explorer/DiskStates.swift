import CExplorer
import Glibc

/// The states of the disk that a power failure may leave, computed from a program's calls.
///
/// The rules are those of a strict POSIX system. A change that no `fsync` of the file or the directory has confirmed
/// may be on the disk or not, each for itself; a rename is one step. A file's data may also be there in part, or its
/// size without its data. The states of ext4 are among them: there, names change in order, and data may be missing.
struct DiskStates {
    /// A change of the disk.
    private struct Change {
        enum Effect {
            /// Names get inodes, or are removed.
            case names([(path: String, inode: UInt64?)], new: DiskTree.Inode?)
            case write(offset: Int, bytes: [UInt8])
            case truncate(size: Int)
            case attribute(String, [UInt8]?)
            case mode(mode_t)
        }

        var effect: Effect
        /// The times of the file after the change, in nanoseconds since 1970.
        var modified: Int64
        var changed: Int64
        /// The file's inode, or that of the directory with the names.
        var inode: UInt64
        /// The number of the record.
        var record: Int
        /// The number of the record from which on it is on the disk; `nil` if it never is for certain.
        var synchronized: Int?

        /// Whether bytes were added to a file that had some.
        var isAppended: Bool { if case .write(1..., _) = effect { true } else { false } }
        var changesNames: Bool { if case .names = effect { true } else { false } }
        var changesData: Bool {
            switch effect {
            case .write, .truncate: true
            case .names, .attribute, .mode: false
            }
        }
    }

    /// The part of the changes that aren't confirmed which is left.
    enum Rest: Hashable, CustomStringConvertible {
        case everything
        case nothing
        case names
        case data
        /// Names and sizes, but zeros for data.
        case zeros
        case withoutAttributes
        /// Everything but one of them.
        case allBut(Int)
        /// Only one of them.
        case only(Int)
        /// The first of them that change names, with or without the data.
        case first(Int, withData: Bool)
        /// Everything, but of the last write only some bytes.
        case cut(Int)
        /// Everything, but zeros from a byte of the last write on.
        case zerosFrom(Int)

        var description: String {
            switch self {
            case .everything: "everything"
            case .nothing: "nothing"
            case .names: "names"
            case .data: "data"
            case .zeros: "zeros"
            case .withoutAttributes: "without-attributes"
            case .allBut(let number): "all-but-\(number)"
            case .only(let number): "only-\(number)"
            case .first(let number, let withData): "\(withData ? "first-with-data" : "first")-\(number)"
            case .cut(let number): "cut-\(number)"
            case .zerosFrom(let number): "zeros-from-\(number)"
            }
        }
    }

    private let base: DiskTree
    private var changes: [Change] = []
    /// The numbers of the records after which the power may fail.
    private(set) var points: [Int] = [0]

    /// Computes the changes from the tree before a program's calls, and their records.
    init(_ base: DiskTree, _ records: [RecordedCall], below root: String) {
        self.base = base
        var names = base.names
        // A file system uses the number of a removed inode again.
        var current: [UInt64: UInt64] = [:]
        var last: UInt64 = 1 << 32
        func new(_ inode: UInt64) -> UInt64 {
            last += 1
            current[inode] = last
            return last
        }
        func path(_ full: String) -> String { String(full.dropFirst(root.count)) }
        func directory(_ path: String) -> UInt64 {
            names[Self.parent(path)] ?? base.root
        }
        for (number, call) in records.enumerated() where call.result ?? -1 >= 0 {
            let (name, other, inode) = (path(call.path), path(call.other), current[call.inode] ?? call.inode)
            func add(_ effect: Change.Effect, to inode: UInt64) {
                changes.append(
                    Change(
                        effect: effect, modified: call.modified, changed: call.changed, inode: inode,
                        record: number + 1))
                points.append(number + 1)
            }
            func addNames(_ new: [(path: String, inode: UInt64?)], _ inode: DiskTree.Inode? = nil) {
                add(.names(new, new: inode), to: directory(new.first?.path ?? ""))
                for (path, inode) in new { names[path] = inode }
            }
            switch call.name {
            case "create":
                addNames(
                    [(name, new(call.inode))],
                    DiskTree.Inode(kind: .file, mode: 0o600, number: call.inode, born: call.born))
            case "open": if call.number & Int64(O_TRUNC) != 0 { add(.truncate(size: 0), to: inode) }
            case "mkdir":
                addNames([(name, new(call.inode))], DiskTree.Inode(kind: .directory, mode: mode_t(call.number)))
            case "symlink":
                let target = String(decoding: call.data, as: UTF8.self)
                addNames([(name, new(call.inode))], DiskTree.Inode(kind: .link(target: target), mode: 0o777))
            case "write":
                add(
                    .write(offset: Int(call.number), bytes: Array(call.data.prefix(Int(call.result ?? 0)))),
                    to: inode)
            case "ftruncate": add(.truncate(size: Int(call.number)), to: inode)
            case "setxattr": add(.attribute(call.other, call.data), to: inode)
            case "removexattr": add(.attribute(call.other, nil), to: inode)
            case "chmod": add(.mode(mode_t(call.number)), to: inode)
            case "rename" where call.number & 2 != 0: addNames([(other, names[name]), (name, names[other])])
            case "rename": addNames([(other, names[name]), (name, nil)])
            case "link": addNames([(other, names[name])])
            case "unlink": addNames([(name, nil)])
            case "fsync":
                for index in changes.indices where changes[index].inode == inode {
                    if changes[index].synchronized == nil { changes[index].synchronized = number + 1 }
                }
                points.append(number + 1)
            default: break
            }
        }
    }

    /// Returns what may be left after a point.
    func rests(at point: Int) -> [Rest] {
        let open = self.open(at: point)
        let named = open.filter { changes[$0].changesNames }.count
        var rests: [Rest] = [.everything, .nothing, .names, .data, .zeros, .withoutAttributes]
        rests += open.indices.flatMap { [.allBut($0), .only($0)] }
        rests += (0...named).flatMap { [.first($0, withData: true), .first($0, withData: false)] }
        if let last = open.last, case .write(_, let bytes) = changes[last].effect {
            // A sector is written as a whole, but an addition to a log may be missing from any byte on.
            let step = changes[last].isAppended ? max(1, bytes.count / 200) : 512
            rests += stride(from: 0, to: bytes.count, by: step).map { .cut($0) }
            rests += stride(from: 0, to: bytes.count, by: max(step, bytes.count / 20)).map { .zerosFrom($0) }
        }
        return rests
    }

    /// Returns the changes up to a point that aren't confirmed then, as text.
    func description(at point: Int) -> String {
        open(at: point).map { index in
            switch changes[index].effect {
            case .names(let names, _):
                names.map { "\($0.path) \($0.inode == nil ? "removed" : "named")" }.joined(separator: " and ")
            case .write(let offset, let bytes): "\(bytes.count) bytes at \(offset) of \(name(of: changes[index]))"
            case .truncate(let size): "size \(size) of \(name(of: changes[index]))"
            case .attribute(let name, _): "\(name) of \(self.name(of: changes[index]))"
            case .mode(let mode): "mode \(String(mode, radix: 8)) of \(name(of: changes[index]))"
            }
        }.enumerated().map { "\($0): \($1)" }.joined(separator: "; ")
    }

    /// Returns a name that the file of a change has had.
    private func name(of change: Change) -> String {
        for case .names(let names, _) in changes.reversed().map(\.effect) {
            if let name = names.first(where: { $0.inode == change.inode }) { return name.path }
        }
        return base.names.first { $1 == change.inode }?.key ?? "?"
    }

    /// Returns the changes up to a point that aren't confirmed then.
    private func open(at point: Int) -> [Int] {
        changes.indices.filter {
            changes[$0].record <= point && changes[$0].synchronized ?? .max > point
        }
    }

    /// Returns the tree after a point.
    func tree(at point: Int, _ rest: Rest) -> DiskTree {
        var tree = base
        let open = open(at: point)
        var names = 0
        for index in changes.indices where changes[index].record <= point {
            let change = changes[index]
            // An inode exists with its first name, whether or not that is on the disk.
            if case .names(let names, let new?) = change.effect, let number = names.first?.inode,
                tree.inodes[number] == nil
            {
                tree.inodes[number] = new
            }
            guard let position = open.firstIndex(of: index) else {
                Self.apply(change, to: &tree)
                continue
            }
            if change.changesNames { names += 1 }
            let isLast = position == open.count - 1
            switch rest {
            case .everything: Self.apply(change, to: &tree)
            case .nothing: break
            case .names: if change.changesNames { Self.apply(change, to: &tree) }
            case .data: if !change.changesNames { Self.apply(change, to: &tree) }
            case .zeros: Self.apply(change, to: &tree, zerosFrom: 0)
            case .withoutAttributes:
                if case .attribute = change.effect { break }
                Self.apply(change, to: &tree)
            case .allBut(let one): if one != position { Self.apply(change, to: &tree) }
            case .only(let one): if one == position { Self.apply(change, to: &tree) }
            case .first(let count, let withData):
                if change.changesNames ? names <= count : withData { Self.apply(change, to: &tree) }
            case .cut(let count): Self.apply(change, to: &tree, upTo: isLast ? count : .max)
            case .zerosFrom(let byte): Self.apply(change, to: &tree, zerosFrom: isLast ? byte : .max)
            }
        }
        // The contents of a directory without a name can't be found.
        let all = tree.names
        tree.names = all.filter { path, _ in
            sequence(first: Self.parent(path)) { $0.isEmpty ? nil : Self.parent($0) }.allSatisfy {
                $0.isEmpty || all[$0] != nil
            }
        }
        tree.inodes = tree.inodes.filter { Set(tree.names.values).contains($0.key) }
        return tree
    }

    private static func parent(_ path: String) -> String {
        String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
    }

    private static func apply(
        _ change: Change, to tree: inout DiskTree, upTo count: Int = .max, zerosFrom byte: Int = .max
    ) {
        var inode = change.inode
        if case .names(let names, _) = change.effect { inode = names.first?.inode ?? 0 }
        if change.changed > 0 {
            tree.inodes[inode]?.modified = change.modified
            tree.inodes[inode]?.changed = change.changed
        }
        switch change.effect {
        case .names(let names, _): for (path, inode) in names { tree.names[path] = inode }
        case .write(let offset, let bytes):
            guard var held = tree.inodes[change.inode]?.bytes else { return }
            let new = bytes.prefix(count).enumerated().map { $0.offset < byte ? $0.element : 0 }
            if held.count < offset { held += [UInt8](repeating: 0, count: offset - held.count) }
            held.replaceSubrange(offset..<min(held.count, offset + new.count), with: new)
            tree.inodes[change.inode]?.bytes = held
        case .truncate(let size):
            guard let held = tree.inodes[change.inode]?.bytes else { return }
            tree.inodes[change.inode]?.bytes =
                held.prefix(size) + [UInt8](repeating: 0, count: max(0, size - held.count))
        case .attribute(let name, let value): tree.inodes[change.inode]?.attributes[name] = value
        case .mode(let mode): tree.inodes[change.inode]?.mode = mode
        }
    }
}
