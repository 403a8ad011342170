import Glibc
import Linux
import TestSupport
import Testing

@testable import DefaultsCore

@Suite("Temporary files and backup copies")
struct TemporaryNameTests {
    @Test("A temporary file's name states its target and the versions that it stands between")
    func bothWays() {
        let (new, expected) = (ContentHash(Array("new".utf8)), ContentHash(Array("old".utf8)))
        let file = TemporaryName(for: "/some/where/a.plist", new: new, expected: expected)
        #expect(file.serial == 0)
        #expect(file.target == ContentHash(Array("a.plist".utf8)))
        #expect(TemporaryName(name: file.name) == file)
        let first = TemporaryName(for: "a.plist", new: new, expected: nil)
        #expect(first.expected == nil)
        #expect(TemporaryName(name: first.name) == first)
        #expect(first.target == file.target)
    }

    @Test(
        "A name with a different format isn't a temporary file's name",
        arguments: [
            "", ".", "a.plist", ".defaultsd", ".defaultsd.1.2.3", ".defaultsd.1.2.3.4.5", ".defaultsd.x.2.3.4",
            "x.defaultsd.1.2.3.4", ".defaultsd.1.2.g.4", ".other.1.2.3.4",
        ])
    func others(name: String) {
        #expect(TemporaryName(name: name) == nil)
    }

    @Test("The backup copy of a file with the longest possible name gets a shorter name")
    func longName() throws {
        try withTemporaryDirectory { directory in
            let host = "0123456789ABCDEF0123456789ABCDEF0123"
            let name = try Domain(DomainName(String(repeating: "é", count: 100)), host: .only(host)).fileName
            let path = "\(directory)/\(Path.lastName(of: name))"
            for reason in [BackupFile.Reason.damaged, .displaced, .unsaved] {
                let copy = try BackupFile.write([1], of: path, because: reason)
                #expect(copy.hasSuffix(".\(reason.rawValue)-1"))
                #expect(Path.directory(of: copy) == directory)
                #expect(try RawFile.read(copy) == [1])
            }
        }
    }

    @Test("A backup copy takes the first free name, is private to the user, and has the same bytes")
    func backupFile() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.plist"
            for number in 1...3 {
                let copy = try BackupFile.write([1, 2, UInt8(number)], of: path, because: .damaged)
                #expect(copy == "\(path).damaged-\(number)")
                #expect(try RawFile.read(copy) == [1, 2, UInt8(number)])
                #expect(try RawFile.status(copy).st_mode & 0o7777 == 0o600)
            }
            #expect(try BackupFile.write([], of: path, because: .displaced) == "\(path).displaced-1")
            #expect(throws: SystemCall.Failure(number: ENOENT)) {
                try BackupFile.write([], of: directory + "/none/a.plist", because: .damaged)
            }
        }
    }
}
