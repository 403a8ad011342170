import DefaultsCore
import Glibc
import Linux

/// A folder that Syncthing, Nextcloud, Dropbox, a network file system or a USB stick carries to other machines.
///
/// Each machine has a subfolder that is named by its identifier, and writes nothing else, so that no tool ever meets
/// two versions of a file.
package struct FolderTransport: FleetTransport {
    /// The path of the folder.
    package let path: String
    private let own: MachineID

    package init(_ path: String, own: MachineID) { (self.path, self.own) = (path, own) }

    /// The maximum size of a file, beyond which it can't be ours.
    private static let maximumSize = 256 << 20

    package func machines() throws -> [MachineID] { try list(path).compactMap { MachineID($0) }.sorted() }

    package func names(of machine: MachineID) throws -> [String] { try list(folder(of: machine)).sorted() }

    package func contents(of name: String, of machine: MachineID) throws -> [UInt8]? {
        do throws(SystemCall.Failure) {
            let file = try FileDescriptor(
                opening: "\(folder(of: machine))/\(name)", O_RDONLY | O_NONBLOCK | O_NOFOLLOW)
            let status = try file.status()
            guard status.isRegular else { return nil }
            if status.st_size > Self.maximumSize { throw SystemCall.Failure(number: EFBIG) }
            return try file.read(upTo: Int(status.st_size))
        } catch {
            // What isn't a file is none of a machine's.
            if error.number == ENOENT || error.number == ELOOP { return nil }
            throw FleetFailure.system("\(folder(of: machine))/\(name)", error.number)
        }
    }

    /// Makes this machine's subfolder, and returns when that is durable.
    ///
    /// Only a machine that joins does this: later, a missing subfolder means that the disk isn't there.
    package func prepare() throws {
        do throws(SystemCall.Failure) {
            try NewFile.makeDirectory(folder(of: own))
            try FileDescriptor.synchronizeDirectory(path)
        } catch { throw FleetFailure.system(folder(of: own), error.number) }
    }

    package func add(_ name: String, _ bytes: [UInt8]) throws {
        let folder = folder(of: own)
        // Tools leave out hidden files, or carry them, which harms nobody. A crash leaves at most one of the
        // connector's. Other files, which another process may add meanwhile, have names of their own.
        let temporary = FleetFileName(name, of: own) == nil ? ".\(name).new" : ".new"
        do throws(SystemCall.Failure) {
            try NewFile.replace("\(folder)/\(name)", with: bytes, through: "\(folder)/\(temporary)")
            try FileDescriptor.synchronizeDirectory(folder)
        } catch {
            if error.number == ENOENT { throw FleetFailure.noOwnFiles }
            throw FleetFailure.system("\(folder)/\(name)", error.number)
        }
    }

    package func remove(_ name: String) throws {
        if unlink("\(folder(of: own))/\(name)") != 0, errno != ENOENT {
            throw FleetFailure.system("\(folder(of: own))/\(name)", errno)
        }
    }

    /// The path of a machine's subfolder.
    package func folder(of machine: MachineID) -> String { "\(path)/\(machine)" }

    /// Returns the names in a folder; none if it doesn't exist, as before a tool has brought it.
    private func list(_ folder: String) throws -> [String] {
        do throws(SystemCall.Failure) {
            let listing = try DirectoryListing(folder)
            var names: [String] = []
            while let entry = try listing.next() { if let name = entry.name { names.append(name) } }
            return names
        } catch {
            // A missing folder of the fleet itself is a disk that isn't there, not an empty fleet.
            if error.number == ENOENT || error.number == ENOTDIR, folder != path { return [] }
            throw FleetFailure.system(folder, error.number)
        }
    }
}
