import DefaultsKit
import ProgramSupport
import PropertyList
import Testing

/// "Defaults Domains", on the argument domain.
@Suite("Argument Domain")
struct ArgumentDomainTests {
    @Test("-IndexOnOpen NO on the command line turns indexing off, whatever the user's defaults say")
    func indexOnOpen() throws {
        try App.with { app in
            try app.launch { $0.set(true, forKey: "IndexOnOpen") }
            try app.launch(arguments: ["-IndexOnOpen", "NO"]) { defaults in
                #expect(!defaults.bool(forKey: "IndexOnOpen"))
                let arguments = defaults.volatileDomain(forName: UserDefaults.argumentDomain)
                #expect(arguments["IndexOnOpen"] as? String == "NO")
            }
        }
    }

    @Test("An argument overrides a default only for the lifetime of the process")
    func temporarily() throws {
        try App.with { app in
            try app.launch { $0.set(true, forKey: "IndexOnOpen") }
            try app.launch(arguments: ["-IndexOnOpen", "NO"]) { $0.set(1, forKey: "other") }
            try app.launch { #expect($0.bool(forKey: "IndexOnOpen")) }
            #expect(try app.place.read(app.path) == ["IndexOnOpen": true, "other": 1])
        }
    }
}
