import DefaultsCore
import PropertyList
import TestSupport
import Testing

@testable import DefaultsClient

@Suite("Sessions without an agent")
struct EmbeddedSessionTests {
    @Test("A session without an agent saves a key that is set to its current value if the file was changed unnoticed")
    func sameValue() throws {
        try withTemporaryDirectory { path in
            let domain = Domain(try DomainName("org.example.app"))
            let file = path + "/org.example.app.plist"
            let session = EmbeddedSession(PreferencesDirectory(path: path), system: .none)
            session.follow([domain.name])
            for number: UInt64 in 1...2 {
                session.edit(
                    EditRequest(
                        domain: domain, values: ["k": 1], writer: .app(.current),
                        identity: EditIdentity(session: 7, number: number)))
                session.synchronize([domain], as: number)
                let saved = try PropertyListValue(parsing: RawFile.read(file))
                #expect(saved == .dictionary(["k": 1]))
                try RawFile.write(PropertyListValue.dictionary(["k": 2]).write(as: .xml), to: file)
            }
        }
    }
}
