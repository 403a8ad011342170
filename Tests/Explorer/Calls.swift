import CExplorer
import Glibc
import TestSupport

/// A call that the library has recorded.
struct RecordedCall {
    var name: String
    var path: String
    var other: String
    var data: [UInt8]
    /// The result; `nil` before the call.
    var result: Int32?
    var inode: UInt64
    var number: Int64
    var modified: Int64
    var changed: Int64
    var born: Int64
    /// The size of the records up to this one.
    var end: Int

    /// Reads all records in a file.
    static func read(_ path: String) throws -> [RecordedCall] {
        guard RawFile.exists(path) else { return [] }
        let bytes = try RawFile.read(path)
        var calls: [RecordedCall] = []
        var position = 0
        func next(_ count: UInt32) -> [UInt8] {
            defer { position += Int(count) }
            return Array(bytes[position..<position + Int(count)])
        }
        func text(_ count: UInt32) -> String { String(decoding: next(count), as: UTF8.self) }
        let size = MemoryLayout<explorer_record>.size
        while position + size <= bytes.count {
            let record = bytes.withUnsafeBytes {
                $0.loadUnaligned(fromByteOffset: position, as: explorer_record.self)
            }
            let rest = Int(record.path_size) + Int(record.other_size) + Int(record.data_size)
            // The program may just be writing the last record.
            guard position + size + rest <= bytes.count else { break }
            position += size
            let name = withUnsafeBytes(of: record.call) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            calls.append(
                RecordedCall(
                    name: name, path: text(record.path_size), other: text(record.other_size),
                    data: next(record.data_size),
                    result: record.result == Int32(bitPattern: 0x8000_0000) ? nil : record.result,
                    inode: record.inode, number: record.number, modified: record.modified, changed: record.changed,
                    born: record.born,
                    end: position))
        }
        return calls
    }

    /// The errors that a call may have.
    static func errors(of name: String) -> [Int32] {
        switch name {
        case "create": [EACCES, EDQUOT, EINTR, EIO, EMFILE, ENOMEM, ENOSPC, EROFS, ESTALE]
        case "open": [EACCES, EINTR, EIO, EMFILE, ENOMEM, ESTALE]
        case "opendir", "fdopendir": [EACCES, EIO, EMFILE, ENOMEM]
        case "read", "pread": [EINTR, EIO, ENOMEM, ESTALE]
        case "write": [EDQUOT, EFBIG, EINTR, EIO, ENOSPC]
        case "fsync": [EDQUOT, EIO, ENOSPC]
        case "rename", "link", "symlink", "mkdir": [EACCES, EDQUOT, EIO, ENOMEM, ENOSPC, EROFS, ESTALE]
        case "unlink": [EACCES, EIO, ENOMEM, EROFS, ESTALE]
        case "ftruncate", "chmod", "chown", "utimens": [EINTR, EIO, EPERM, EROFS]
        case "fallocate": [EINTR, EIO, ENOSPC, ENOTSUP]
        case "setxattr", "removexattr": [EDQUOT, EIO, ENOSPC, ENOTSUP, EPERM]
        case "flock": [EINTR, ENOLCK, ENOMEM]
        case "lease": [EAGAIN]
        case "inotify_init": [EMFILE, ENFILE, ENOMEM]
        case "inotify_add": [EACCES, ENOMEM, ENOSPC]
        case "inotify_rm": [EINVAL]
        case "close", "readdir": name == "close" ? [] : [EIO]
        // Status and attributes of an open file.
        case "fstat", "fstatfs", "fgetxattr", "flistxattr": [EIO, ENOMEM, ESTALE]
        // Status and names.
        default: [EACCES, EIO, ENOMEM, ESTALE]
        }
    }
}
