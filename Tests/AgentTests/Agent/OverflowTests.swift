import DefaultsCore
import DefaultsKit
import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

@Suite("Overflows of the kernel's event queue")
struct OverflowTests {
    @Test("An overflow by 20,000 renames causes one rescan, and only real changes are reported")
    func renames() throws {
        func path(_ name: String, _ agent: AgentProcess) -> String { agent.place.path(name) }
        func write(_ values: DomainValues, _ name: String, _ place: AgentProcess.Place) throws {
            try RawFile.replace(place.path(name), with: PropertyListValue.dictionary(values).write(as: .xml))
        }
        try AgentProcess.withAgent(prepare: { place in
            for number in 0..<10 {
                try write(["n": .integer(Int64(number)), "same": "x"], "org.example.\(number)", place)
            }
        }) { agent in
            let follower = try agent.follow()
            let events = try follower.changes {
                agent.signal(SIGSTOP)
                // Two files keep swapping names and end where they began. Two others end up swapped.
                for _ in 0..<3_333 {
                    for (a, b) in [("org.example.0", "org.example.1"), ("org.example.2", "org.example.3")] {
                        rename(path(a, agent), path("aside", agent))
                        rename(path(b, agent), path(a, agent))
                        rename(path("aside", agent), path(b, agent))
                    }
                }
                rename(path("org.example.0", agent), path("aside", agent))
                rename(path("org.example.1", agent), path("org.example.0", agent))
                rename(path("aside", agent), path("org.example.1", agent))
                // Lost among these: a change, a rewrite without a change, a new file, and a removed one.
                try write(["n": 4, "same": "y"], "org.example.4", agent.place)
                try write(["n": 5, "same": "x"], "org.example.5", agent.place)
                try write(["n": 10], "org.example.10", agent.place)
                unlink(path("org.example.6", agent))
                agent.signal(SIGCONT)
            }
            #expect(
                events.sorted() == [
                    "org.example.10: n ->10 (file)", "org.example.2: n 2>3 (file)", "org.example.3: n 3>2 (file)",
                    "org.example.4: same x>y (file)", "org.example.6: n 6>-, same x>- (file)",
                ])
            guard case .dictionary(let watch)? = try agent.status()["watch"] else {
                Issue.record("The status has no entry for the watch.")
                return
            }
            #expect(watch["overflows"] == 1)
            // The watches still work.
            try follower.expect(["org.example.7: same x>z (file)"]) {
                try write(["n": 7, "same": "z"], "org.example.7", agent.place)
            }
        }
    }
}
