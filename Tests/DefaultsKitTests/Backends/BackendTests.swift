import DefaultsCore
import DefaultsKit
import PropertyList
import TestSupport
import Testing

@Suite("A backend")
struct BackendTests {
    @Test("is an embedded store where no agent answers")
    func embedded() throws {
        try withTemporaryDirectory { path in
            let directory = PreferencesDirectory(path: path)
            let environment = Environment(["XDG_RUNTIME_DIR": path])
            let backend = try BackendChoice.open(directory, AgentAddress(for: directory, environment: environment))
            let domain = try Domain(DomainName("org.example.editor"))
            try backend.edit(domain, ["size": .some(12)], replacesAll: false)
            try backend.synchronize(domain)
            let values = try backend.snapshot(of: domain).values
            #expect(values == ["size": 12])
        }
    }
}
