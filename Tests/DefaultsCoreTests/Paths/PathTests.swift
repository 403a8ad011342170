import Glibc
import Linux
import PropertyList
import TestSupport
import Testing

@testable import DefaultsCore

@Suite("Paths")
struct PathTests {
    @Test("A file has lost its name only if that is certain")
    func lostNames() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/file"
            try RawFile.write("", to: path)
            let file = try FileDescriptor(opening: path, O_RDONLY)
            // The status of the last path can't be read.
            let paths = [path, directory + "/other", path + "/other", path + String(repeating: "x", count: 300)]
            let areLost = paths.map { file.hasLostName($0) }
            #expect(areLost == [false, true, true, false])
            try RawFile.replace(path, with: [])
            let isLost = file.hasLostName(path)
            #expect(isLost)
        }
    }

    /// A name whose first scalar combines with the preceding "/" into one character.
    private static let marked = "\u{301}mark"

    @Test(
        "A path's directory and last name are found by bytes, not characters",
        arguments: [
            ("/a/b", "/a", "b"), ("/a", "/", "a"), ("a", ".", "a"), ("a/b", "a", "b"),
            ("/a/\(marked)", "/a", marked), ("/\(marked)/b", "/\(marked)", "b"),
            ("/\(marked)/\(marked)", "/\(marked)", marked), ("/\(marked)", "/", marked),
        ])
    func parts(path: String, directory: String, name: String) {
        #expect(Path.directory(of: path).utf8.elementsEqual(directory.utf8))
        #expect(Path.lastName(of: path).utf8.elementsEqual(name.utf8))
    }

    @Test("Separators and trailing slashes are found by bytes, not characters")
    func bytes() {
        #expect(Path.isAbsolute("/\(Self.marked)"))
        #expect(!Path.isAbsolute("a/b"))
        #expect(Path.hasSeparator("a/\(Self.marked)"))
        #expect(Path.withoutTrailingSlashes("/a//") == "/a")
        #expect(Path.withoutTrailingSlashes("//") == "/")
        #expect(Path.names(of: "/a//\(Self.marked)/") == ["a", Self.marked])
        #expect(PreferencesDirectory(path: "/\(Self.marked)/").path.utf8.elementsEqual("/\(Self.marked)".utf8))
    }

    @Test("A domain whose name begins with a combining mark is saved in its own directory")
    func markedDomain() throws {
        try withTemporaryDirectory { root in
            let directory = root + "/d"
            try RawFile.makeDirectory(directory)
            let domain = try Domain(DomainName(Self.marked))
            let store = Store(directory: PreferencesDirectory(path: directory))
            for value in 1...2 {
                store.edit(EditRequest(domain: domain, values: ["a": .integer(Int64(value))], writer: .testApp))
                try store.save(domain)
            }
            #expect(try DomainValues.read("\(directory)/\(Self.marked).plist") == ["a": 2])
            let temporary = TemporaryName(
                for: "\(directory)/\(Self.marked).plist", new: ContentHash(value: 1), expected: nil)
            #expect(temporary.target == ContentHash(Array("\(Self.marked).plist".utf8)))
            #expect(namesOfFiles(in: root) == ["d"])
        }
    }

    @Test("A managed file whose name begins with a combining mark is checked like any other")
    func markedManagedFile() throws {
        try withTemporaryDirectory { root in
            let directory = root + "/managed"
            try RawFile.makeDirectory(directory)
            let path = "\(directory)/\(Self.marked).plist"
            try RawFile.write("{ a = 1; }", to: path)
            chmod(directory, 0o777)
            guard case .unusable(let damage) = DomainFile(path: path, managedDirectory: directory).read(known: nil)
            else {
                Issue.record("The file was accepted.")
                return
            }
            #expect(damage.error.code == .untrusted)
        }
    }
}
