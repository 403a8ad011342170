import DefaultsClient
import DefaultsCore
import DefaultsKit
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// Snapshots of all domains, with and without an agent.
@Suite("Snapshots of all domains")
struct SnapshotTests {
    @Test("An agent repeatedly returns the same snapshots as an embedded store, damaged domains included")
    func same() throws {
        let host = try Domain(DomainName("a.b"), host: DomainHost(identifier: "H"))
        func prepare(_ place: AgentProcess.Place) throws {
            try RawFile.makeDirectory(place.system)
            try RawFile.write("{x = y;}", to: place.system + "/of.system.plist")
            for number in 0..<200 { try RawFile.write("{k = \(number);}", to: place.path("many.\(number)")) }
            try RawFile.write("{", to: place.path("damaged"))
            try RawFile.write("{}", to: place.path("empty"))
        }
        try AgentProcess.withAgent(prepare: prepare) { agent in
            let connection = try agent.connect()
            try connection.edit(host, with: ["k": "v"], replacesAll: false)
            try connection.synchronize(host)
            let system = SystemDirectories(anyUser: [agent.place.system], managed: nil)
            let own = EmbeddedStore(PreferencesDirectory(path: agent.place.preferences), system: system)
            let expected = try own.snapshots()
            #expect(expected.count == 202)
            #expect(expected.map(\.domain) == expected.map(\.domain).sorted())
            #expect(expected.contains { $0.domain == host && $0.values == ["k": "v"] })
            #expect(expected.filter { $0.damage != nil }.map(\.domain.name.description) == ["damaged"])
            for _ in 1...3 {
                let snapshots = try connection.snapshots()
                #expect(snapshots.map(\.domain) == expected.map(\.domain))
                #expect(snapshots.map(\.values) == expected.map(\.values))
                #expect(snapshots.map(\.damage) == expected.map(\.damage))
                // Events of a finished stream must not be mixed into later answers.
                try connection.edit(host, with: ["k": "v"], replacesAll: true)
                #expect(try connection.snapshot(of: host).values == ["k": "v"])
            }
        }
    }
}
