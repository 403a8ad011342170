import DefaultsCore
import ProgramSupport
import PropertyList
import TestSupport
import Testing

@testable import DefaultsClient
@testable import DefaultsKit

@Suite("Agent that is silent after the greeting")
struct SilentAgentTests {
    @Test("A client works without a silent agent and doesn't reconnect for a while")
    func leftAlone() throws {
        try withSlowAgent(silentFor: 0) { address, directory, connections in
            try RawFile.write(
                PropertyListValue.dictionary(["k": 1]).write(as: .xml), to: directory.path + "/org.example.app.plist")
            let environment = Environment([
                "DEFAULTS_DIRECTORY": directory.path, "DEFAULTSD_SOCKET": address.socketPath,
                "DEFAULTS_SYSTEM_DIRECTORIES": directory.path + "/none",
                "DEFAULTS_MANAGED_DIRECTORY": directory.path + "/none",
            ])
            let client = Client(.success(try Location(environment: environment)))
            defer { client.close() }
            let defaults = try #require(UserDefaults(suiteName: "org.example.app", in: client))
            #expect(defaults.integer(forKey: "k") == 1)
            for number in 2...4 {
                defaults.set(number, forKey: "k")
                #expect(defaults.synchronize())
            }
            #expect(connections() == 1)
        }
    }
}
