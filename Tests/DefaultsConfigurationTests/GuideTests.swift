#if Configuration
import Configuration
import DefaultsConfiguration
import DefaultsKit
import TestSupport
import Testing

@Suite("The guide's server", .timeLimit(.minutes(1)))
struct GuideTests {
    @Test("The guide's server follows another process's change without a restart")
    func server() async throws {
        try await withSharedPlace { ours, others in
            let environment = EnvironmentVariablesProvider(environmentVariables: [:])
            let server = GreetingServer(config: ConfigReader(providers: [environment, UserDefaultsProvider(ours)]))
            #expect(server.answer("Jane") == "Hello, Jane!")
            let following = Task { try await server.run() }
            others.set("Welcome", forKey: "server.greeting")
            #expect(others.synchronize())
            while server.answer("Jane") != "Welcome, Jane!" { await Task.yield() }
            following.cancel()
            try await following.value
        }
    }

    @Test("The guide shows the server that is compiled here")
    func text() throws {
        let root = String(#filePath.dropLast("Tests/DefaultsConfigurationTests/GuideTests.swift".count))
        let guide = "Sources/DefaultsConfiguration/DefaultsConfiguration.docc/LiveConfigurationForAServer.md"
        let source = "Tests/DefaultsConfigurationTests/Support/GreetingServer.swift"
        let shown = String(decoding: try RawFile.read(root + guide), as: UTF8.self)
        let compiled = String(decoding: try RawFile.read(root + source), as: UTF8.self)
        let lines = compiled.split(separator: "\n", omittingEmptySubsequences: false)
            .filter { $0 != "#if Configuration" && $0 != "#endif" }
        // The test target has its own main.
        let program = lines.joined(separator: "\n").replacing("struct Greeter", with: "@main struct Greeter")
        #expect(shown.contains(program))
    }
}
#endif
