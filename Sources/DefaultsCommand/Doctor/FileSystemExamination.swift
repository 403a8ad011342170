import CLinux
import DefaultsCore
import Glibc
import Linux

/// The file system of a directory, and its support for what preferences need.
struct FileSystemExamination {
    /// The abilities that a probe tests with files of its own; `nil` if the probe was inconclusive.
    struct Abilities: Equatable {
        /// Read leases, which show whether a program is still writing a file.
        var leases: Bool?
        /// The atomic exchange of two names.
        var exchange: Bool?
        /// User attributes, one of which marks saved files.
        var attributes: Bool?
        /// Timestamps finer than a second.
        var fineTimes: Bool?
    }

    let path: String
    let kind: FileSystemKind
    /// The abilities; `nil` if no file could be created.
    let abilities: Abilities?
    /// The error number of the attempt to create a file; `nil` if it succeeded.
    let obstacle: Int32?
    let space: FreeSpace?

    /// The abilities with their names.
    private var list: [(ability: Bool?, name: String)] {
        [
            (abilities?.leases, "leases"), (abilities?.exchange, "exchange"),
            (abilities?.attributes, "user attributes"), (abilities?.fineTimes, "fine timestamps"),
        ]
    }

    /// A line about the file system.
    var text: String {
        let known = list.compactMap { ability, name in ability.map { $0 ? name : "no \(name)" } }
        let abilities = known.isEmpty ? "" : ": \(known.joined(separator: ", "))"
        return kind.name + abilities + (space.map { "; \($0.bytes.byteCount) free" } ?? "")
    }

    /// The file system as a JSON object.
    var json: String {
        func text(_ ability: Bool?) -> String { ability.map { $0 ? "true" : "false" } ?? "null" }
        return JSONText.object([
            ("kind", JSONText.string(kind.name)), ("leases", text(abilities?.leases)),
            ("exchange", text(abilities?.exchange)), ("attributes", text(abilities?.attributes)),
            ("fineTimes", text(abilities?.fineTimes)), ("reportsChanges", text(kind.unreported == nil)),
            ("freeBytes", space.map { "\($0.bytes)" } ?? "null"),
            ("freeFiles", space?.files.map { "\($0)" } ?? "null"),
        ])
    }

    /// The findings about everything that the file system lacks.
    var findings: [Finding] {
        var findings = lacks
        if let obstacle { findings.append(refusal(obstacle)) }
        if let space, obstacle != ENOSPC, obstacle != EDQUOT { findings += space.findings(path) }
        return findings
    }

    private func refusal(_ number: Int32) -> Finding {
        let isFull = number == ENOSPC || number == EDQUOT
        return Finding(
            .problem, id: isFull ? "disk-full" : "directory-read-only",
            message: "No file can be created in \(path): \(SystemCall.message(number)).",
            remedy: isFull
                ? "Free space on that file system, or raise the quota."
                : "Make the directory writable, or name another one with --directory or DEFAULTS_DIRECTORY.",
            path: path)
    }

    private var lacks: [Finding] {
        let remedy =
            "Keep the preferences on a local file system, such as ext4: name a directory there with "
            + "DEFAULTS_DIRECTORY."
        var findings: [Finding] = []
        func lack(_ severity: Finding.Severity, id: String, text: String, remedy: String = remedy) {
            findings.append(
                Finding(
                    severity, id: id, message: "The file system of \(path) (\(kind.name)) \(text)",
                    remedy: remedy, path: path))
        }
        switch kind.unreported {
        case .byOthers:
            lack(
                .note, id: "file-system-shared",
                text: "doesn't report changes made by other machines, so the agent polls it and sees changes a few "
                    + "seconds later.")
        case .inLowerLayers:
            lack(
                .note, id: "file-system-layers", text: "doesn't report changes made in a lower layer.",
                remedy: "After such a change, run `defaults sync`, which checks every known file. After adding a "
                    + "file there, send SIGHUP to the agent.")
        case nil: break
        }
        if abilities?.exchange == false {
            lack(
                .warning, id: "file-system-exchange",
                text: "can't exchange two files atomically. A change that another program makes during a save may be "
                    + "lost.")
        }
        if abilities?.leases == false {
            lack(
                .note, id: "file-system-leases",
                text: "doesn't support leases. A file that has changed within a minute is read twice, 20 ms apart, in "
                    + "case a program is still writing it.")
        }
        if abilities?.attributes == false {
            lack(
                .note, id: "file-system-attributes",
                text: "doesn't support user attributes. After a restart, changes to saved files are recognized only by "
                    + "their timestamps.")
        }
        if abilities?.fineTimes == false {
            lack(
                .note, id: "file-system-times",
                text: "stores timestamps in whole seconds. A file that changed within the last two seconds is read "
                    + "repeatedly.")
        }
        return findings
    }
}

extension FileSystemExamination {
    /// Examines the file system of a directory; fails if the directory can't be opened.
    init?(_ path: String) {
        guard let directory = try? FileDescriptor(opening: path, O_RDONLY | O_DIRECTORY | O_NONBLOCK) else {
            return nil
        }
        var (abilities, obstacle): (Abilities?, Int32?)
        do throws(SystemCall.Failure) { abilities = try FileSystemProbe.run(in: path) } catch {
            obstacle = error.number
        }
        self.init(
            path: path, kind: FileSystemKind(number: linux_file_system_type(directory.number)), abilities: abilities,
            obstacle: obstacle, space: FreeSpace(path))
    }
}

/// The space that is still available to the user on a file system.
struct FreeSpace: Equatable {
    let bytes: UInt64
    /// The number of files that can be created; `nil` if the file system has no limit.
    let files: UInt64?

    /// The numbers of bytes and files below which saves will soon fail.
    private static let low: (bytes: UInt64, files: UInt64) = (4 << 20, 64)

    /// Returns a warning if there is almost no space left on the file system of a path.
    func findings(_ path: String) -> [Finding] {
        let lacksBytes = bytes < Self.low.bytes
        guard lacksBytes || files.map({ $0 < Self.low.files }) == true else { return [] }
        let what = lacksBytes ? bytes.byteCount : "room for \(files ?? 0) files"
        return [
            Finding(
                .warning, id: "disk-nearly-full",
                message: "The file system of \(path) has only \(what) left; saves will soon fail.",
                remedy: lacksBytes ? "Free space on it." : "Remove files from it.", path: path)
        ]
    }
}

extension FreeSpace {
    /// Looks up the free space of a path's file system.
    init?(_ path: String) {
        var status = statvfs()
        guard statvfs(path, &status) == 0 else { return nil }
        let bytes = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
        self.init(
            bytes: bytes.overflow ? .max : bytes.partialValue,
            files: status.f_files == 0 ? nil : UInt64(status.f_favail))
    }
}

/// A kind of file system, by the number that the kernel reports.
struct FileSystemKind: Equatable {
    let number: Int64

    /// The usual name, or the number in hexadecimal.
    var name: String { NetworkFileSystem.names[number] ?? Self.local[number] ?? "0x" + String(number, radix: 16) }

    /// The changes that inotify doesn't report on a file system.
    enum UnreportedChanges {
        /// Those that other machines or servers make without the kernel's knowledge.
        case byOthers
        /// Those that are made to the files of a lower layer, and not through the mount.
        case inLowerLayers
    }

    /// The changes that inotify doesn't report; `nil` if it reports all.
    var unreported: UnreportedChanges? {
        if NetworkFileSystem.names[number] != nil { return .byOthers }
        return number == Self.overlay ? .inLowerLayers : nil
    }

    private static let overlay: Int64 = 0x794C_7630

    /// Other kinds, from `linux/magic.h`.
    private static let local: [Int64: String] = [
        0xEF53: "ext4", 0x5846_5342: "XFS", 0x9123_683E: "Btrfs", 0x2FC1_2FC1: "ZFS", 0xCA45_1A4E: "bcachefs",
        0xF2F5_2010: "F2FS", 0x0102_1994: "tmpfs", 0x8584_58F6: "ramfs", overlay: "overlay",
        0x0000_F15F: "eCryptfs", 0x4D44: "FAT", 0x2011_BAB0: "exFAT", 0x7366_746E: "NTFS", 0x5346_544E: "NTFS",
        0x3153_464A: "JFS", 0x5265_4973: "ReiserFS", 0x3434: "NILFS", 0x2405_1905: "UBIFS", 0x72B6: "JFFS2",
        0x9660: "ISO 9660", 0x7371_7368: "SquashFS", 0xE0F5_E1E2: "EROFS",
    ]
}
