import DefaultsClient
import DefaultsCore
import Glibc
import Linux
import PropertyList

extension OpenDomain {
    /// Marks the file as read once it holds the exported values, since the export may be edited and copied back (see
    /// `Seal`).
    ///
    /// Without the mark, only what was set since the export would be merged with it, so errors don't matter.
    func markRead(_ values: DomainValues) {
        guard (try? backend.synchronize(domain)) != nil, (try? self.values()) == values,
            let path = try? choice.directory(of: location).path(of: domain)
        else { return }
        _ = try? FileDescriptor(opening: path, O_RDONLY | O_NONBLOCK | O_NOCTTY).read(upTo: 1)
    }

    /// Performs an edit, makes it durable, and reports backup copies that were saved beside the file.
    ///
    /// If the location of the edit isn't obvious from the argument, such as a path with "..", it is reported first.
    func save(_ edit: () throws -> MadeEdit) throws {
        if let note = location.note { Failure.report(note) }
        defer {
            if case .embedded(let store) = opened {
                for copy in store.dequeueCopies() { Failure.report(BackupFile.message(ofCopy: copy)) }
            }
        }
        do {
            let edit = try edit()
            if let damage = replacedDamage { Failure.report("\(damage) \(Self.replacement)") }
            do throws(DefaultsError) { try backend.synchronize(domain) } catch {
                guard error.code == .agentUnavailable else { throw error }
                guard !error.isTimeout, try isSaved(edit) else {
                    throw error.adding("The edit was made but may not be on disk yet.")
                }
            }
            if location.directory == nil { backend.reportForcedKeys(edit.values.keys, of: domain) }
        } catch let error as DefaultsError
            where location.directory != nil && (error.code == .directory || error.code == .notSaved)
        {
            // For a file named by its path, the failure means that an output file can't be created.
            throw Failure(error.description, .cantCreate)
        }
    }

    /// Saves an edit with the next agent, or finds it in the file, after the agent that made it has ended.
    ///
    /// An agent saves its edits before it ends, and after a crash, the next one recovers them from the log. But the log
    /// may be damaged, or another agent's, and a store in this process doesn't read it. So the edit counts as saved
    /// only if its values are in effect.
    ///
    /// - Returns: Whether the edit is saved; false if that can't be found out within a second.
    /// - Throws: The reason why the edit can't be saved.
    private func isSaved(_ edit: MadeEdit) throws(DefaultsError) -> Bool {
        // The agent may be saving the edit now, or starting again.
        var backoff = Backoff(from: .milliseconds(10), to: .milliseconds(100), timeout: .seconds(1))
        repeat {
            do throws(DefaultsError) {
                let backend = try choice.open().backend
                // Values in effect before the call are durable after it.
                let snapshot = try backend.snapshot(of: domain)
                try backend.synchronize(domain)
                if snapshot.damage == nil, edit.isInEffect(in: snapshot.values), try isOnDisk() { return true }
            } catch {
                switch error.code {
                case .agentUnavailable where !error.isTimeout: break
                case .agentUnavailable, .agentRefused, .protocolViolation: return false
                default: throw error
                }
            }
        } while backoff.wait()
        return false
    }

    /// Waits until the domain's file is on the disk, because the agent may have been killed while it waited for that.
    ///
    /// - Returns: False if the file can't be synchronized.
    private func isOnDisk() throws(DefaultsError) -> Bool {
        let path = try choice.directory(of: location).path(of: domain)
        let resolved = realpath(path, nil)
        defer { free(resolved) }
        let target = resolved.map { String(cString: $0) } ?? path
        do throws(SystemCall.Failure) {
            try FileDescriptor(opening: target, O_RDONLY | O_NONBLOCK | O_NOCTTY).synchronize()
        } catch {
            if error.number != ENOENT { return false }
        }
        do throws(SystemCall.Failure) { try FileDescriptor.synchronizeDirectory(of: target) } catch { return false }
        return true
    }
}

/// An edit that has been made, but may not be saved yet.
struct MadeEdit {
    /// The keys that were set or removed.
    var values: Difference
    /// Whether all other keys were removed.
    var replacesAll = false

    /// Returns whether a domain's values include what the edit has set, and nothing that it has removed.
    func isInEffect(in present: DomainValues) -> Bool {
        if replacesAll, present.keys.contains(where: { values[$0] == nil }) { return false }
        return values.allSatisfy { PropertyListValue.areSame($1, inEffect: present[$0]) }
    }
}

extension Backend {
    /// Reports the keys of an edit whose values an administrator forces, since apps don't see the new ones.
    func reportForcedKeys(_ keys: some Sequence<String>, of domain: Domain) {
        for layer in layers(of: domain.name, onHost: nil) where layer.user == .managed {
            // The edit has been made, so an error here isn't the command's.
            let forced = (try? snapshot(of: layer, keys: Array(keys)).values.keys.sorted()) ?? []
            if forced.isEmpty { continue }
            let path = system.directory(of: .managed)?.path(of: layer) ?? ""
            Failure.report("\(path) forces \(ChangeText.list(forced)), so apps don't see this change.")
        }
    }
}
