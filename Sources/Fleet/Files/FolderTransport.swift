import DefaultsCore
import Glibc
import Linux

/// A folder that Syncthing, Nextcloud, Dropbox, a network file system or a USB stick carries to other machines.
///
/// Each machine has a subfolder that is named by its identifier, and writes nothing else, so that no tool ever meets
/// two versions of a file.
///
/// Links in the folder's own path are followed each time, wherever they lead then. A subfolder is never a link: others
/// may write in the folder, and could lead the user's own connector to another directory by one. So everything in a
/// subfolder is named below its descriptor.
///
/// The tool may be another user. So the folder's own rights decide who may read the files, which are encrypted: its
/// default list, or else the umask.
package struct FolderTransport: FleetTransport {
    /// The path of the folder.
    package let path: String
    private let own: MachineID

    package init(_ path: String, own: MachineID) { (self.path, self.own) = (path, own) }

    /// The maximum size of a file, beyond which it can't be ours.
    private static let maximumSize = 256 << 20

    // MARK: Names

    /// The name of the file with a machine's request for the key.
    package static let requestName = "join"

    /// Returns the name of the file with the answer to a machine's request, in the folder of the one that answers.
    package static func answerName(for machine: MachineID) -> String { "\(machine).key" }

    /// Returns the machine to whose request a file is the answer; `nil` for other files.
    package static func machine(answeredBy name: String) -> MachineID? {
        name.hasSuffix(".key") ? MachineID(String(name.dropLast(4))) : nil
    }

    // Tools leave out hidden files, or carry them, which does no harm. A crash leaves at most one of the connector's.
    // Other files, which another process may add meanwhile, have names of their own.
    private func temporaryName(of name: String) -> String {
        FleetFileName(name, of: own) == nil ? ".\(name).new" : ".new"
    }

    /// Returns whether this program gives such a name to a file of this machine's.
    private func isGiven(_ name: String) -> Bool {
        if name == ".new" || FleetFileName(name, of: own) != nil { return true }
        func isOfJoining(_ name: String) -> Bool {
            name == Self.requestName || Self.machine(answeredBy: name) != nil
        }
        if name.hasPrefix("."), name.hasSuffix(".new") { return isOfJoining(String(name.dropFirst().dropLast(4))) }
        return isOfJoining(name)
    }

    // MARK: Reading

    package func machines() throws -> [MachineID] {
        do throws(SystemCall.Failure) {
            return try Self.names(in: try folder()).compactMap { MachineID($0) }.sorted()
        } catch { throw FleetFailure.system(path, error.number) }
    }

    package func names(of machine: MachineID) throws -> [String] {
        do throws(SystemCall.Failure) { return try Self.names(in: try subfolder(of: machine)).sorted() } catch {
            // A tool may not have brought it yet. The folder itself is there, or its disk isn't.
            if error.number == ENOENT, (try? folder()) != nil { return [] }
            throw failure(error, of: machine)
        }
    }

    package func versions(of machine: MachineID) throws -> [String: FleetFileVersion] {
        do throws(SystemCall.Failure) {
            let subfolder = try subfolder(of: machine)
            var versions: [String: FleetFileVersion] = [:]
            for name in try Self.names(in: subfolder) {
                do throws(SystemCall.Failure) {
                    let status = try FileStatus(at: name, below: subfolder.number)
                    let numbers = [
                        Int(status.st_dev), Int(status.st_ino), Int(status.st_size), status.st_mtim.tv_sec,
                        status.st_mtim.tv_nsec, status.st_ctim.tv_sec, status.st_ctim.tv_nsec,
                    ]
                    let time = Timestamp(status.st_ctim).milliseconds
                    versions[name] = FleetFileVersion(numbers, changedAt: time)
                } catch {
                    // A tool may have removed it since. Another one is refused when its contents are read.
                    if error.number == ENOENT { continue }
                    versions[name] = FleetFileVersion([-Int(error.number)], changedAt: 0)
                }
            }
            return versions
        } catch {
            if error.number == ENOENT, (try? folder()) != nil { return [:] }
            throw failure(error, of: machine)
        }
    }

    package func contents(of name: String, of machine: MachineID) throws -> [UInt8]? {
        do throws(SystemCall.Failure) {
            let file = try subfolder(of: machine).open(name, flags: O_RDONLY | O_NONBLOCK | O_NOFOLLOW)
            let status = try file.status()
            guard status.isRegular else { return nil }
            if status.st_size > Self.maximumSize { throw SystemCall.Failure(number: EFBIG) }
            return try file.read(upTo: Int(status.st_size))
        } catch {
            // A link isn't a machine's file. A file that is missing with its subfolder may be there.
            if error.number == ELOOP || error.number == ENOENT && (try? subfolder(of: machine)) != nil { return nil }
            throw failure(error, of: machine, at: name)
        }
    }

    // MARK: Writing

    /// Makes this machine's subfolder, and returns when that is durable.
    ///
    /// Only a machine that joins does this, or one that finds the files of others: otherwise, a missing subfolder may
    /// mean that the disk isn't there.
    package func prepare() throws {
        do throws(SystemCall.Failure) {
            try NewFile.makeDirectory("\(path)/\(own)", mode: 0o777)
            _ = try subfolder(of: own)
            try folder().synchronizeDirectory()
        } catch { throw failure(error, of: own) }
    }

    package func add(_ name: String, _ bytes: [UInt8]) throws {
        do throws(SystemCall.Failure) {
            let subfolder = try subfolder(of: own)
            try NewFile.replace(
                name, below: subfolder.number, with: bytes, mode: 0o666, through: temporaryName(of: name))
            try subfolder.synchronizeDirectory()
        } catch {
            if error.number == ENOENT { throw FleetFailure.noOwnFiles }
            throw failure(error, of: own, at: name)
        }
    }

    package func remove(_ name: String) throws {
        do throws(SystemCall.Failure) {
            try subfolder(of: own).remove(name)
        } catch {
            if error.number != ENOENT { throw failure(error, of: own, at: name) }
        }
    }

    /// Removes this machine's files, and its subfolder if nothing else is in it.
    package func removeAll() throws {
        for name in try names(of: own) where isGiven(name) { try remove(name) }
        try? folder().remove(own.text, flags: AT_REMOVEDIR)
    }

    // MARK: Directories

    /// Whether the folder's group can read this machine's subfolder and newest file, if the folder is set up for a
    /// group (by the set-group-ID bit); also if that can't be found out.
    package var isReadableByGroup: Bool {
        let readable = mode_t(S_IRGRP)
        guard let folder = try? folder().status(), folder.st_mode & S_ISGID != 0, folder.st_mode & readable != 0,
            let subfolder = try? subfolder(of: own), let status = try? subfolder.status()
        else { return true }
        guard let newest = try? files(of: own).last,
            let file = try? subfolder.open("\(newest)", flags: O_RDONLY | O_NONBLOCK | O_NOFOLLOW),
            let newest = try? file.status(), newest.isRegular
        else { return status.st_mode & readable != 0 }
        return status.st_mode & newest.st_mode & readable != 0
    }

    private func folder() throws(SystemCall.Failure) -> FileDescriptor {
        try FileDescriptor(opening: path, O_RDONLY | O_DIRECTORY | O_NONBLOCK)
    }

    /// Opens a machine's subfolder.
    ///
    /// - Throws: `ENOTDIR` if it is a link, or if this machine's own belongs to another user than the folder's owner,
    ///   who could replace it anyway, and owns everything on some network file systems.
    private func subfolder(of machine: MachineID) throws(SystemCall.Failure) -> FileDescriptor {
        let folder = try folder()
        let subfolder = try folder.open(machine.text, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK)
        if machine == own {
            let status = try subfolder.status()
            let owner = try folder.status().st_uid
            if !status.isOwn, status.st_uid != owner { throw SystemCall.Failure(number: ENOTDIR) }
        }
        return subfolder
    }

    private static func names(in directory: borrowing FileDescriptor) throws(SystemCall.Failure) -> [String] {
        let listing = try DirectoryListing(".", below: directory.number)
        var names: [String] = []
        while let entry = try listing.next() { if let name = entry.name { names.append(name) } }
        return names
    }

    private func failure(_ error: SystemCall.Failure, of machine: MachineID, at name: String? = nil) -> FleetFailure {
        let subfolder = "\(path)/\(machine)"
        if machine == own, error.number == ENOTDIR, (try? folder()) != nil { return .notOwnFolder(subfolder) }
        return .system(name.map { "\(subfolder)/\($0)" } ?? subfolder, error.number)
    }
}
