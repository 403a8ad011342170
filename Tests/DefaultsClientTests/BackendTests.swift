import DefaultsClient
import DefaultsCore
import PropertyList
import TestSupport
import Testing

@Suite("Choice of the backend")
struct BackendTests {
    @Test("An embedded store is used if no agent responds")
    func embedded() throws {
        try withTemporaryDirectory { path in
            let directory = PreferencesDirectory(path: path)
            let environment = Environment(["XDG_RUNTIME_DIR": path])
            let address = try AgentAddress(for: directory, environment: environment)
            let backend = try BackendChoice.open(directory, at: address).backend
            let domain = try Domain(DomainName("org.example.editor"))
            try backend.edit(domain, with: ["size": .some(12)], replacesAll: false)
            try backend.synchronize(domain)
            let values = try backend.snapshot(of: domain).values
            #expect(values == ["size": 12])
        }
    }
}
