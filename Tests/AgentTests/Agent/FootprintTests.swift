import DefaultsClient
import DefaultsKit
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// The cost of an idle agent.
@Suite("The agent's footprint")
struct FootprintTests {
    @Test("An agent with a thousand domains uses less than 30 MB of memory")
    func memory() throws {
        try AgentProcess.withAgent(
            prepare: { place in
                for number in 0..<1_000 {
                    let keys = (0..<20).map { ("key\($0)", PropertyListValue.string("value \($0) of \(number)")) }
                    let values = PropertyListValue.dictionary(Dictionary(uniqueKeysWithValues: keys))
                    try RawFile.write(values.write(as: .xml), to: place.path("org.example.app\(number)"))
                }
            },
            { agent in
                let domains = try agent.connect().domains()
                #expect(domains.count == 1_000)
                #expect(try agent.residentKilobytes() < 30_000)
            })
    }
}
