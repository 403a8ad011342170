import DefaultsCore
import Dispatch
import Glibc
import Linux
import Synchronization
import TestSupport
import Testing

@Suite("Directory lock")
struct DirectoryLockTests {
    @Test("The lock keeps other processes out until it is released", .enabled(if: ForeignProcess.hasPython))
    func exclusion() throws {
        try withTemporaryDirectory { path in
            let directory = PreferencesDirectory(path: path)
            let other = try ForeignProcess(
                python: """
                    import fcntl, os, sys
                    for line in sys.stdin:
                        if line == "lock\\n":
                            try:
                                fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
                                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                                print("locked", flush=True)
                            except BlockingIOError:
                                print("busy", flush=True)
                        else:
                            os.unlink(sys.argv[1])
                            fcntl.flock(fd, fcntl.LOCK_UN)
                            print("unlocked", flush=True)
                    """, ["\(path)/\(DirectoryLock.fileName)"])
            do {
                let lock = try DirectoryLock(directory)
                try other.send("lock")
                #expect(other.line() == "busy")
                _ = consume lock
            }
            try other.send("lock")
            #expect(other.line() == "locked")
            let error = #expect(throws: DefaultsError.self) { _ = try DirectoryLock(directory, timeout: 30) }
            #expect(error?.code == .locked)
            #expect(
                error?.description
                    == "Another process is saving in \(path). To find it, run `lsof \(path)/\(DirectoryLock.fileName)`."
            )
            try other.send("unlock")
            #expect(other.line() == "unlocked")
            _ = try DirectoryLock(directory, timeout: 0)
            try other.remainder()
            #expect(namesOfFiles(in: path) == [])
        }
    }

    @Test("The lock keeps another store of the same process out")
    func sameProcess() throws {
        try withTemporaryDirectory { path in
            let directory = PreferencesDirectory(path: path)
            let lock = try DirectoryLock(directory)
            #expect(throws: DefaultsError.self) { _ = try DirectoryLock(directory, timeout: 0) }
            _ = consume lock
            _ = try DirectoryLock(directory, timeout: 0)
        }
    }

    @Test("Locking a missing directory or a regular file throws an error")
    func noDirectory() throws {
        try withTemporaryDirectory { path in
            try RawFile.write("", to: path + "/file")
            for path in [path + "/none", path + "/file"] {
                let error = #expect(throws: DefaultsError.self) {
                    _ = try DirectoryLock(PreferencesDirectory(path: path))
                }
                #expect(error?.code == .directory)
            }
        }
    }

    @Test("Another program's lock on the directory itself doesn't block the lock, since any reader can take one")
    func directoryLocked() throws {
        try withTemporaryDirectory { path in
            let directory = try FileDescriptor(opening: path, O_RDONLY | O_DIRECTORY)
            #expect(flock(directory.number, LOCK_EX | LOCK_NB) == 0)
            _ = try DirectoryLock(PreferencesDirectory(path: path), timeout: 0)
        }
    }

    @Test("The lock file is accessible only to the user, and a link in its place isn't followed")
    func file() throws {
        try withTemporaryDirectory { path in
            let directory = PreferencesDirectory(path: path)
            let file = "\(path)/\(DirectoryLock.fileName)"
            do {
                let lock = try DirectoryLock(directory)
                #expect(try RawFile.status(file).st_mode & 0o7777 == 0o600)
                _ = consume lock
            }
            #expect(!RawFile.exists(file))
            symlink(path + "/elsewhere", file)
            #expect(throws: DefaultsError.self) { _ = try DirectoryLock(directory, timeout: 0) }
            #expect(!RawFile.exists(path + "/elsewhere"))
        }
    }

    @Test("A lock whose file is kept can be acquired by others, and then again unless they removed the file")
    func kept() throws {
        try withTemporaryDirectory { path in
            let directory = PreferencesDirectory(path: path)
            let file = "\(path)/\(DirectoryLock.fileName)"
            let lock = try DirectoryLock(directory)
            let isKept = lock.unlock()
            #expect(isKept)
            #expect(RawFile.exists(file))
            let isLockedAgain = lock.lockAgain()
            #expect(isLockedAgain)
            #expect(throws: DefaultsError.self) { _ = try DirectoryLock(directory, timeout: 0) }
            let isKeptAgain = lock.unlock()
            #expect(isKeptAgain)
            do {
                let other = try DirectoryLock(directory, timeout: 0)
                let isLockedBeside = lock.lockAgain()
                #expect(!isLockedBeside)
                _ = consume other
            }
            #expect(!RawFile.exists(file))
            let isLockedAfterwards = lock.lockAgain()
            #expect(!isLockedAfterwards)
            let successor = try DirectoryLock(directory, timeout: 0)
            // The end of a lock that was given up must not remove the file of the next holder.
            _ = consume lock
            #expect(RawFile.exists(file))
            let successorIsKept = successor.unlock()
            #expect(successorIsKept)
            chmod(file, 0o644)
            let isLockedOpenToOthers = successor.lockAgain()
            #expect(!isLockedOpenToOthers)
            _ = consume successor
            #expect(!RawFile.exists(file))
        }
    }

    @Test("A lock that another program holds on a world-readable lock file is ignored, and the file becomes private")
    func openToOthers() throws {
        try withTemporaryDirectory { path in
            let file = "\(path)/\(DirectoryLock.fileName)"
            for isLocked in [false, true] {
                try RawFile.write("", to: file)
                chmod(file, 0o644)
                let other = try FileDescriptor(opening: file, O_RDONLY)
                if isLocked { #expect(flock(other.number, LOCK_EX | LOCK_NB) == 0) }
                let lock = try DirectoryLock(PreferencesDirectory(path: path), timeout: 0)
                #expect(try RawFile.status(file).st_mode & 0o7777 == 0o600)
                #expect(throws: DefaultsError.self) {
                    _ = try DirectoryLock(PreferencesDirectory(path: path), timeout: 0)
                }
                _ = consume lock
                #expect(!RawFile.exists(file))
            }
        }
    }

    @Test(
        "Another user's lock file is removed from the user's own directory", .enabled(if: geteuid() == 0),
        arguments: [0o600, 0o644, 0o666] as [mode_t])
    func foreignFile(mode: mode_t) throws {
        try withTemporaryDirectory { path in
            let file = "\(path)/\(DirectoryLock.fileName)"
            try RawFile.write("", to: file)
            chown(file, 65_534, 65_534)
            chmod(file, mode)
            let other = try FileDescriptor(opening: file, O_RDONLY)
            #expect(flock(other.number, LOCK_EX | LOCK_NB) == 0)
            let lock = try DirectoryLock(PreferencesDirectory(path: path), timeout: 0)
            #expect(try RawFile.status(file).st_uid == 0)
            _ = consume lock
        }
    }

    @Test("A third user's lock file in another user's directory is reported", .enabled(if: geteuid() == 0))
    func foreignDirectory() throws {
        try withTemporaryDirectory { path in
            let file = "\(path)/\(DirectoryLock.fileName)"
            try RawFile.write("", to: file)
            chown(file, 65_533, 65_533)
            chown(path, 65_534, 65_534)
            let error = #expect(throws: DefaultsError.self) {
                _ = try DirectoryLock(PreferencesDirectory(path: path), timeout: 0)
            }
            #expect(error?.code == .locked)
            #expect(error?.description.contains("belongs to user ID 65533") == true, "\(error as Any)")
            #expect(RawFile.exists(file))
        }
    }

    @Test("Each of many threads that contend for the lock gets it, one at a time", .timeLimit(.minutes(1)))
    func turns() throws {
        try withTemporaryDirectory { path in
            let inside = Mutex(0)
            DispatchQueue.concurrentPerform(iterations: 4) { _ in
                for _ in 0..<100 {
                    guard let lock = try? DirectoryLock(PreferencesDirectory(path: path)) else {
                        Issue.record("The lock couldn't be acquired.")
                        return
                    }
                    #expect(
                        inside.withLock {
                            $0 += 1; return $0
                        } == 1)
                    inside.withLock { $0 -= 1 }
                    _ = consume lock
                }
            }
            #expect(namesOfFiles(in: path) == [])
        }
    }
}
