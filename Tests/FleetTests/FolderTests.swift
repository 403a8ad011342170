import Fleet
import Glibc
import TestSupport
import Testing

/// The real folder, in which others have put links and files of theirs.
@Suite("The folder of a fleet")
final class FolderTests {
    private let directory: String
    private var path: String { "\(directory)/folder" }
    private let machine: MachineID
    private let other: MachineID

    init() throws {
        machine = try #require(MachineID("00000000000000aa"))
        other = try #require(MachineID("00000000000000bb"))
        directory = try makeTemporaryDirectory()
    }

    deinit { removeTree(directory) }

    private func folder(at path: String? = nil) throws -> FolderTransport {
        mkdir(self.path, 0o700)
        let folder = FolderTransport(path ?? self.path, own: machine)
        try folder.prepare()
        return folder
    }

    private func names(in path: String) throws -> [String] {
        let stream = try #require(opendir(path))
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    @Test("A file that goes is absent, but not one whose subfolder goes")
    func absence() throws {
        let folder = try folder()
        #expect(try folder.contents(of: "1-1.env", of: machine) == nil)
        rmdir("\(path)/\(machine)")
        #expect(throws: FleetFailure.self) { try folder.contents(of: "1-1.env", of: machine) }
    }

    @Test("Nothing behind a link in place of the machine's own subfolder is read, written or removed")
    func ownLink() throws {
        let folder = try folder()
        let (own, documents) = ("\(path)/\(machine)", "\(directory)/documents")
        mkdir(documents, 0o700)
        for name in ["1-1.env", "join", "thesis"] { close(creat("\(documents)/\(name)", 0o600)) }
        rename(own, "\(path)/moved")
        symlink(documents, own)
        func isRefused(_ body: () throws -> Void) -> Bool {
            do { try body() } catch FleetFailure.notOwnFolder { return true } catch {}
            return false
        }
        #expect(isRefused { _ = try folder.names(of: machine) })
        #expect(isRefused { _ = try folder.contents(of: "1-1.env", of: machine) })
        #expect(isRefused { try folder.add("2-2.env", [1]) })
        #expect(isRefused { try folder.remove("1-1.env") })
        #expect(isRefused { try folder.removeAll() })
        #expect(isRefused { try folder.prepare() })
        #expect(try names(in: documents) == ["1-1.env", "join", "thesis"])
    }

    @Test("A link in place of another machine's subfolder isn't followed, and is a failure")
    func foreignLink() throws {
        let folder = try folder()
        mkdir("\(directory)/documents", 0o700)
        close(creat("\(directory)/documents/1-1.env", 0o600))
        symlink("\(directory)/documents", "\(path)/\(other)")
        #expect(throws: FleetFailure.self) { try folder.names(of: other) }
        #expect(throws: FleetFailure.self) { try folder.contents(of: "1-1.env", of: other) }
    }

    @Test("A machine removes the files that the program has named, and no others")
    func foreignFiles() throws {
        let folder = try folder()
        let own = "\(path)/\(machine)"
        let given = ["1-1.env", "2.snap", "join", "\(other).key", ".new", ".join.new", ".\(other).key.new"]
        for name in given + ["thesis", "1-1.sync-conflict-2.env", "my.key", ".thesis.new", "01-1.env"] {
            close(creat("\(own)/\(name)", 0o600))
        }
        try folder.removeAll()
        #expect(try names(in: own) == [".thesis.new", "01-1.env", "1-1.sync-conflict-2.env", "my.key", "thesis"])
        for name in try names(in: own) { unlink("\(own)/\(name)") }
        try folder.add("1-1.env", [1])
        #expect(try folder.contents(of: "1-1.env", of: machine) == [1])
        try folder.remove("1-1.env")
        #expect(try folder.contents(of: "1-1.env", of: machine) == nil)
        try folder.add("1-1.env", [1])
        try folder.removeAll()
        #expect(access(own, F_OK) != 0)
    }

    @Test("The folder's default list decides who may read what is written there")
    func defaultList() throws {
        guard AccessControlList.isAvailable else { return }
        mkdir(path, 0o700)
        try AccessControlList.set("default", on: path)
        let folder = try folder()
        try folder.add("1-1.env", [1])
        var status = stat()
        stat("\(path)/\(machine)/1-1.env", &status)
        // For the group, this is the list's mask.
        #expect(status.st_mode & 0o777 == 0o640)
    }

    @Test("A folder that is meant for a group, which can't read the machine's files, is noticed")
    func group() throws {
        let folder = try folder()
        let own = "\(path)/\(machine)"
        chmod(own, 0o700)
        #expect(folder.isReadableByGroup)
        chmod(path, 0o2770)
        #expect(!folder.isReadableByGroup)
        chmod(own, 0o2750)
        #expect(folder.isReadableByGroup)
        try folder.add("1-1.env", [1])
        chmod("\(own)/1-1.env", 0o600)
        #expect(!folder.isReadableByGroup)
        // Only a file can be one of the machine's.
        mkfifo("\(own)/2-2.env", 0o600)
        #expect(folder.isReadableByGroup)
    }

    @Test("The folder is the one to which a link in its path leads now")
    func movedLink() throws {
        let (first, second) = ("\(directory)/one", "\(directory)/two")
        for path in [first, second] { mkdir(path, 0o700) }
        let link = "\(directory)/link"
        symlink(first, link)
        let folder = try folder(at: link)
        try folder.add("1-1.env", [1])
        unlink(link)
        symlink(second, link)
        mkdir("\(second)/\(machine)", 0o700)
        try folder.add("2-2.env", [2])
        #expect(try folder.names(of: machine) == ["2-2.env"])
        #expect(try names(in: "\(second)/\(machine)") == ["2-2.env"])
        #expect(try names(in: "\(first)/\(machine)") == ["1-1.env"])
    }
}
