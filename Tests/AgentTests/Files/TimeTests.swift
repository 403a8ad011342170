import DefaultsClient
import DefaultsCore
import DefaultsKit
import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// Clocks that step, and files with times in the past or future.
@Suite("Clock steps and file times")
struct TimeTests {
    private static let day: Int64 = 86_400

    private func write(_ agent: AgentProcess, _ key: String, _ value: String) throws {
        let path = agent.place.path("a.b")
        var values: DomainValues = [:]
        if case .dictionary(let old)? = try? PropertyListValue(parsing: RawFile.read(path)) { values = old }
        values[key] = .string(value)
        try RawFile.replace(path, with: PropertyListValue.dictionary(values).write(as: .xml))
    }

    private func fileValues(_ agent: AgentProcess) throws -> PropertyListValue {
        try PropertyListValue(parsing: RawFile.read(agent.place.path("a.b")))
    }

    private func wake(_ agent: AgentProcess) throws {
        agent.signal(SIGHUP)
        try agent.synchronize()
    }

    @Test("A clock that steps a day either way causes no missed and no repeated change")
    func steps() throws {
        try AgentProcess.withPlace { place in
            guard let clock = try SteppedClock(in: place.root) else { return }
            let agent = try AgentProcess(place, launcher: clock.launcher)
            defer { agent.kill() }
            let follower = try agent.follow()
            try follower.expect(["a.b: f ->0 (file)"]) { try write(agent, "f", "0") }
            var last = "0"
            var expected: DomainValues = ["f": "0"]
            for (number, step) in [Self.day, -Self.day, 0, -Self.day, Self.day].enumerated() {
                try clock.set(step)
                let name = "\(number) \(step)"
                let events = try follower.events { try write(agent, "f", name) }
                #expect(events.map(Follower.text) == ["a.b: f \(last)>\(name) (file)"])
                guard case .record(let record, _)? = events.first else { continue }
                // The agent's clock has stepped.
                let offset = (record.time.nanoseconds - Timestamp.now().nanoseconds) / 1_000_000_000
                #expect(abs(offset - step) < 3_600)
                // The command's clock has stepped, too.
                let old = number == 0 ? "-" : "edit\(number - 1)"
                try follower.expect(["a.b: e \(old)>edit\(number) (app)"]) {
                    let status = try agent.defaults("write", "a.b", "e", "edit\(number)").status
                    #expect(status == 0)
                }
                last = name
                expected = ["f": .string(name), "e": .string("edit\(number)")]
                #expect(try fileValues(agent) == .dictionary(expected))
                let inode = try RawFile.status(place.path("a.b")).st_ino
                try follower.expect([]) { try wake(agent) }
                #expect(try RawFile.status(place.path("a.b")).st_ino == inode, "The file was saved again.")
            }
            #expect(try agent.comesToRest())
            #expect(agent.terminate() == 0)
        }
    }

    @Test(
        "An edit that a crash left unsaved is saved by the next agent even if the clock has stepped",
        arguments: [-day, day])
    func crash(step: Int64) throws {
        try AgentProcess.withPlace { place in
            guard let clock = try SteppedClock(in: place.root) else { return }
            let first = try AgentProcess(place, launcher: clock.launcher)
            try write(first, "theirs", "file")
            try first.holdEdits()
            try first.connect().edit(Domain(DomainName("a.b")), with: ["ours": "edit"], replacesAll: false)
            #expect(try fileValues(first) == ["theirs": "file"])
            first.kill()
            try clock.set(step)
            let second = try AgentProcess(place, launcher: clock.launcher)
            defer { second.kill() }
            try second.synchronize()
            #expect(try fileValues(second) == ["theirs": "file", "ours": "edit"])
            #expect(try second.status()["pending"] == .array([]))
        }
    }

    /// File times to set: 1970, 2001, a second before the write, and a day and ten years after it.
    static let times = [0, 1_000_000_000, -1, 86_400, 315_360_000]

    @Test(
        "A file's time in the past or the future hides no change and causes no repeated saves",
        arguments: times)
    func fileTimes(time: Int) throws {
        try AgentProcess.withAgent { agent in
            let path = agent.place.path("a.b")
            let now = Int(Timestamp.now().nanoseconds / 1_000_000_000)
            let seconds = (time == 0 || time == 1_000_000_000) ? time : now + time
            func save(_ text: String) throws {
                try RawFile.write(text, to: path)
                let times = [timespec(tv_sec: seconds, tv_nsec: 0), timespec(tv_sec: seconds, tv_nsec: 0)]
                guard utimensat(AT_FDCWD, path, times, 0) == 0 else { throw TestSystemError("utimensat") }
            }
            let follower = try agent.follow()
            var last = "-"
            for number in 0..<20 {
                // The same size and the same time as before, in the same file.
                let new = "v\(10 + number)"
                try follower.expect(["a.b: k \(last)>\(new) (file)"]) { try save("{k=\(new);}") }
                last = new
            }
            // A new time is no change.
            try follower.expect([]) {
                try save("{k=\(last);}")
                try wake(agent)
            }
            // An edit is saved exactly once.
            try follower.expect(["a.b: e ->edit (app)"]) { try agent.defaults("write", "a.b", "e", "edit") }
            let published = try RawFile.status(path).st_ino
            try follower.expect([]) { try wake(agent) }
            #expect(try RawFile.status(path).st_ino == published, "The file was saved again.")
            // The edit is later than the file, whatever the file's time.
            try agent.holdEdits()
            _ = try follower.events()
            try save("{k=file; e=edit; both=file;}")
            try agent.synchronize()
            letTimePass()
            try agent.defaults("write", "a.b", "both", "edit")
            try agent.synchronize()
            #expect(try fileValues(agent) == ["k": "file", "e": "edit", "both": "edit"])
            #expect(try agent.comesToRest())
        }
    }

    /// Waits until a change to a file gets a later time than the changes before.
    private func letTimePass() {
        let now = Timestamp.now()
        #expect(eventually { Timestamp.now().nanoseconds > now.nanoseconds + 20_000_000 })
    }
}
