import Linux
import TestSupport
import Testing

@testable import DefaultsCore

@Suite("Clocks of file systems")
struct FileClockTests {
    private static let second: Int64 = 1_000_000_000
    private static let time = 1_700_000_000 * second

    @Test(
        "File times may repeat within a tick, or within two seconds if the file system stores whole seconds",
        arguments: [
            // Age in milliseconds, nanoseconds of both times, expected.
            (0, 0, 0, true), (1_999, 0, 0, true), (2_019, 0, 0, true), (2_021, 0, 0, false),
            (0, 1, 1, true), (19, 1, 1, true), (21, 1, 1, false), (21, 0, 1, false), (21, 1, 0, false),
            // A time in the future.
            (-5_000, 1, 1, true), (-5_000, 0, 0, true),
        ] as [(Int64, Int64, Int64, Bool)])
    func repetition(age: Int64, modified: Int64, changed: Int64, expected: Bool) {
        let (modified, changed) = (Self.time + modified, Self.time + changed)
        let now = max(modified, changed) + age * 1_000_000
        #expect(FileClock.mayRepeat(modified: modified, changed: changed, now: now) == expected)
    }

    @Test("Extreme file times cause no overflow", arguments: [Int64.min, -1, 0, .max])
    func extremes(time: Int64) {
        for now in [Int64.min, 0, Self.time, .max] {
            _ = FileClock.mayRepeat(modified: time, changed: time, now: now)
        }
        #expect(FileClock.mayRepeat(modified: .max, changed: .max, now: Self.time))
        #expect(!FileClock.mayRepeat(modified: .min, changed: .min, now: Self.time))
    }

    @Test("A file named in an event is read even if its times are unchanged")
    func told() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.plist"
            try RawFile.write("{ a = 1; }", to: path)
            guard case .contents(let contents) = DomainFile(path: path).read(known: nil) else {
                Issue.record("The file wasn't read.")
                return
            }
            // The effect of a coarse clock: different bytes under the same identity.
            var known = contents.version
            known.isSettled = true
            known.hash = ContentHash(value: 1)
            #expect(DomainFile(path: path).read(known: known).kind == "unchanged")
            #expect(DomainFile(path: path).read(known: known, afterEvent: true).kind == "contents")
        }
    }
}
