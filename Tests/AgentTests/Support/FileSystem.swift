import Glibc
import ProgramSupport
import TestSupport

/// A kind of file system for a test's directories.
enum FileSystem: String, CaseIterable {
    /// The file system of `/tmp`.
    case ordinary
    case tmpfs
    /// An overlay of two directories on a tmpfs, since not every file system can be the upper one.
    case overlay
    /// One that doesn't record reads.
    case unrecorded

    /// Whether it records reads, so that it is known who has loaded which version.
    var recordsReads: Bool { self != .unrecorded }

    /// The script that mounts the file system at `m`, and the mount points; `nil` if none has to be mounted.
    private var mounting: (script: String, points: [String])? {
        switch self {
        case .ordinary, .tmpfs: nil
        case .overlay:
            (
                """
                mkdir layers m; mount -t tmpfs none layers; mkdir -p layers/lower layers/upper layers/work
                mount -t overlay none -o lowerdir=layers/lower,upperdir=layers/upper,workdir=layers/work m
                """, ["m", "layers"]
            )
        case .unrecorded: ("mkdir m; mount -t tmpfs -o noatime none m", ["m"])
        }
    }

    /// Whether this machine allows it: a container may forbid mounts.
    var isAvailable: Bool { (try? withPlace { _ in }) != nil }

    /// Runs a test with new directories on the file system, without an agent.
    func withPlace<Result>(_ body: (AgentProcess.Place) throws -> Result) throws -> Result {
        try withTemporaryDirectory(in: self == .tmpfs ? "/dev/shm" : "/tmp") { root in
            guard let mounting else { return try body(AgentProcess.Place(in: root)) }
            defer { for point in mounting.points { umount2("\(root)/\(point)", Int32(MNT_DETACH)) } }
            let outcome = try Programs.shell(mounting.script, in: root)
            if outcome.status != 0 { throw AgentProcess.AgentFailure(description: outcome.errors) }
            return try body(AgentProcess.Place(in: root + "/m"))
        }
    }
}
