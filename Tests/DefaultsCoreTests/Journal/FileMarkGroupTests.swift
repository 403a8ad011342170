import PropertyList
import TestSupport
import Testing

@testable import DefaultsCore

@Suite("Groups of file marks in the change log file")
struct FileMarkGroupTests {
    private let limits = Frame.messageLimits

    private func files(_ count: Int) throws -> [(Domain, ContentHash)] {
        try (0..<count).map { number in
            (Domain(try DomainName("é.\u{65}\u{301}.app\(number)")), ContentHash(value: .max - UInt64(number)))
        }
    }

    @Test("Every mark of a group is recovered, however many there are", arguments: [0, 1, 4096, 10_000])
    func roundTrip(count: Int) throws {
        try withTemporaryDirectory { directory in
            let files = try files(count)
            var log = ChangeLog()
            log.append(.unknown(Domain(.global)), at: Timestamp(nanoseconds: 1))
            let single = FileMark(domain: Domain(.global), hash: nil, revision: 1)
            _ = try ChangeLogFile.create(
                at: directory + "/log", log: log,
                marks: [.mark(single)] + FileMarkGroup.groups(of: files, revision: 1).map { .marks($0) },
                sizeLimit: 1 << 20)
            let recovered = try #require(try intactLog(from: directory + "/log", limits: limits))
            #expect(recovered.marks.count == count + 1)
            for (domain, hash) in files {
                #expect(recovered.marks[domain] == [FileMark(domain: domain, hash: hash, revision: 1)])
            }
        }
    }

    @Test("Domains of single hosts and other users aren't in groups")
    func special() throws {
        let name = try DomainName("org.example.app")
        let files = [
            Domain(name, host: .only("AB-1")), Domain(name, user: .managed),
            Domain(name, user: .any(directory: "/etc")),
        ].map { ($0, ContentHash(value: 1)) }
        #expect(FileMarkGroup.groups(of: files, revision: 0).isEmpty)
    }

    @Test(
        "A group whose names and hashes don't match, or with an invalid name, is rejected",
        arguments: [
            ["names": "a/b", "hashes": .data([UInt8](repeating: 1, count: 8))],
            ["names": "a", "hashes": .data([UInt8](repeating: 1, count: 9))],
            ["names": "a", "hashes": .data([UInt8](repeating: 1, count: 16))],
            ["names": "a", "hashes": .data([])], ["names": "a/", "hashes": .data([UInt8](repeating: 1, count: 16))],
            ["names": "", "hashes": .data([])], ["names": ".a", "hashes": .data([UInt8](repeating: 1, count: 8))],
            ["names": "a"], ["hashes": .data([])],
        ] as [DomainValues])
    func invalid(fields: DomainValues) throws {
        #expect(throws: DefaultsError.self) {
            try FileMarkGroup(Fields(fields.merging(["revision": 0, "type": "marks"]) { $1 }))
        }
    }

    @Test("A log with a group from the future is rejected, and a log of the former format is recovered")
    func formats() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/log"
            let groups = FileMarkGroup.groups(of: try files(1), revision: 1)
            _ = try ChangeLogFile.create(at: path, log: ChangeLog(), marks: groups.map { .marks($0) }, sizeLimit: 1)
            #expect(try intactLog(from: path, limits: limits) == nil)

            let mark = FileMark(domain: Domain(.global), hash: ContentHash(value: 1), revision: 0)
            _ = try ChangeLogFile.create(at: path, log: ChangeLog(), marks: [.mark(mark)], sizeLimit: 1)
            var bytes = try RawFile.read(path)
            let size = Array("defaultsd log 2\n".utf8).count + 24
            bytes.replaceSubrange(0..<16, with: Array("defaultsd log 2\n".utf8))
            bytes.replaceSubrange(size..<size + 8, with: Frame.bigEndian(ContentHash(Array(bytes[..<size])).value))
            try RawFile.write(bytes, to: path)
            #expect(try intactLog(from: path, limits: limits)?.marks == [Domain(.global): [mark]])
        }
    }
}
