import DefaultsCore
import TestSupport
import Testing

@Suite("The directory's lock")
struct DirectoryLockTests {
    @Test("It keeps other processes out, and is let go at the end", .enabled(if: ForeignProcess.hasPython))
    func exclusion() throws {
        try withTemporaryDirectory { path in
            let directory = PreferencesDirectory(path: path)
            let other = try ForeignProcess(
                python: """
                    import fcntl, os, sys
                    fd = os.open(sys.argv[1], os.O_RDONLY)
                    for line in sys.stdin:
                        if line == "lock\\n":
                            try:
                                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                                print("locked", flush=True)
                            except BlockingIOError:
                                print("busy", flush=True)
                        else:
                            fcntl.flock(fd, fcntl.LOCK_UN)
                            print("unlocked", flush=True)
                    """, [path])
            do {
                let lock = try DirectoryLock(directory)
                try other.send("lock")
                #expect(other.line() == "busy")
                _ = consume lock
            }
            try other.send("lock")
            #expect(other.line() == "locked")
            let error = #expect(throws: DefaultsError.self) { _ = try DirectoryLock(directory, patience: 30) }
            #expect(error?.code == .locked)
            #expect(
                error?.description
                    == "Another process has held the lock of \(path) for 30 ms; `lsof \(path)` names it.")
            try other.send("unlock")
            #expect(other.line() == "unlocked")
            _ = try DirectoryLock(directory, patience: 0)
            try other.remainder()
            #expect(namesOfFiles(in: path) == [])
        }
    }

    @Test("It keeps another store of the same process out")
    func sameProcess() throws {
        try withTemporaryDirectory { path in
            let directory = PreferencesDirectory(path: path)
            let lock = try DirectoryLock(directory)
            #expect(throws: DefaultsError.self) { _ = try DirectoryLock(directory, patience: 0) }
            _ = consume lock
            _ = try DirectoryLock(directory, patience: 0)
        }
    }

    @Test("A directory that isn't there, or is none, can't be locked")
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
}
