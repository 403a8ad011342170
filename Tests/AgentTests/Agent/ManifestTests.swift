import DefaultsClient
import DefaultsCore
import DefaultsKit
import Foundation
import Glibc
import Linux
import Manifests
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// Manifests in the agent: it tells what breaks them, keeps sensitive values out of the history, and enforces root's.
@Suite("Manifests and the agent")
struct ManifestTests {
    private static let size = "{ pfm_name = Size; pfm_type = integer; pfm_range_max = <*I72>; }"
    private static let theme = "{ pfm_name = Theme; pfm_type = string; pfm_range_list = (light, dark); }"
    private static let secret = "{ pfm_name = Password; pfm_type = string; pfm_sensitive = <*BY>; }"

    /// Returns the violations that the agent reports in its status.
    private func violations(_ agent: AgentProcess) throws -> [String] {
        try Fields(agent.status()).array("violations").map { value in
            let fields = try Fields(value, of: "A violation")
            return "\(try fields.string("domain")) \(try fields.string("key")) \(try fields.string("rule"))"
        }
    }

    @Test("What a foreign writer breaks is told in the change and in the status, and stays in effect")
    func foreignWriter() throws {
        try AgentProcess.withAgent(prepare: { try $0.describe("a.b", with: Self.size + "," + Self.theme) }) { agent in
            let tail = try agent.start("tail", "--json", "a.b")
            let text = try agent.start("tail", "--color", "never", "a.b")
            _ = try tail.objects(upTo: "bookmark")
            #expect(try eventually { try Fields(agent.status()).array("subscribers").count == 2 })
            try RawFile.write("{ Size = <*I99>; Theme = dark; Other = 1; }", to: agent.place.path("a.b"))
            let change = try tail.object()
            let told = try #require(change["violations"] as? [[String: Any]])
            #expect(told.count == 1)
            #expect(told[0]["key"] as? String == "Size" && told[0]["rule"] as? String == "maximum")
            #expect(told[0]["limit"] as? Int == 72)
            #expect(told[0]["message"] as? String == "\"Size\" must be at most 72.")
            let lines = (0..<4).map { _ in text.line() ?? "" }
            #expect(lines.last?.hasSuffix("a.b Size  \"Size\" must be at most 72.") == true, "\(lines)")
            #expect(try violations(agent) == ["a.b Size maximum"])
            #expect(try agent.defaults("status").output.contains("a.b: \"Size\" must be at most 72."))
            #expect(try agent.defaults("read", "a.b", "Size").output == "99\n")

            try RawFile.replace(agent.place.path("a.b"), with: Array("{ Size = <*I12>; Theme = dark; }".utf8))
            let mended = try tail.object()
            #expect(mended["violations"] == nil)
            #expect(try violations(agent) == [])
        }
    }

    @Test("A manifest that is installed, changed or removed while the agent runs counts at once")
    func liveManifests() throws {
        try AgentProcess.withAgent { agent in
            try RawFile.write("{ Size = <*I99>; }", to: agent.place.path("a.b"))
            try agent.synchronize()
            #expect(try violations(agent) == [])
            try agent.place.describe("a.b", with: Self.size)
            #expect(try eventually(within: 30) { try violations(agent) == ["a.b Size maximum"] })
            try agent.place.describe("a.b", with: "{ pfm_name = Size; pfm_type = string; }")
            try agent.synchronize()
            #expect(try violations(agent) == ["a.b Size type"])
            unlink("\(agent.place.manifests)/a.b.plist")
            try agent.synchronize()
            #expect(try violations(agent) == [])
            // A pattern applies to the domains that have no manifest of their own.
            try agent.place.describe("a.*", with: Self.size)
            try agent.synchronize()
            #expect(try violations(agent) == ["a.b Size maximum"])
            // Of several, the one with the longest name without wildcards applies.
            try agent.place.describe("a.b*", with: "{ pfm_name = Size; pfm_type = string; }")
            try agent.place.describe("*b", with: "{ pfm_name = Size; pfm_type = date; }")
            try agent.synchronize()
            #expect(try violations(agent) == ["a.b Size type"])
            #expect(try agent.defaults("describe", "a.b").output.contains("string"))
        }
    }

    @Test(
        "A manifest that can't be used disables nothing but itself, and is named in the agent's log",
        arguments: ["{ torn", "(a)", "{ a = b; }"])
    func unusableManifest(_ text: String) throws {
        try AgentProcess.withAgent(prepare: { place in
            try place.describe("a.b", with: Self.size)
            try RawFile.write(text, to: "\(place.manifests)/c.d.plist")
        }) { agent in
            #expect(try agent.defaults("write", "c.d", "Anything", "-int", "1").status == 0)
            try RawFile.write("{ Size = <*I99>; }", to: agent.place.path("a.b"))
            try agent.synchronize()
            #expect(try violations(agent) == ["a.b Size maximum"])
            let complaints = agent.complaints()
            #expect(complaints.contains("\(agent.place.manifests)/c.d.plist is not used"), "\(complaints)")
        }
    }

    @Test("A manifest that couldn't be read is read again, also at the start", arguments: [false, true])
    func unreadableManifest(_ isThereFirst: Bool) throws {
        try AgentProcess.withPlace { place in
            // Nothing changes in the directory of the manifests when the loop is replaced.
            let target = "\(place.root)/loop"
            func addLoop() throws {
                guard symlink("loop", target) == 0, symlink("\(target)/m.plist", "\(place.manifests)/a.b.plist") == 0
                else { throw TestSystemError("symlink") }
            }
            try place.describe("c.d", with: Self.size)
            if isThereFirst { try addLoop() }
            let agent = try AgentProcess(place)
            defer { agent.kill() }
            if !isThereFirst { try addLoop() }
            try RawFile.write("{ Size = <*I99>; }", to: place.path("a.b"))
            try agent.synchronize()
            #expect(try violations(agent) == [])
            unlink(target)
            try RawFile.makeDirectory(target)
            try RawFile.write("{ pfm_subkeys = (\(Self.size)); }", to: "\(target)/m.plist")
            #expect(try eventually(within: 30) { try violations(agent) == ["a.b Size maximum"] })
            #expect(agent.complaints().contains("The manifest \(place.manifests)/a.b.plist can't be read"))
        }
    }

    @Test("A sensitive value is masked for those who follow, and never gets into the history, even after a crash")
    func sensitive() throws {
        try AgentProcess.withPlace { place in
            try place.describe("a.b", with: Self.secret + "," + Self.size)
            for _ in 0..<2 {
                let agent = try AgentProcess(place)
                let tail = try agent.start("tail", "a.b")
                let json = try agent.start("tail", "--json", "a.b")
                _ = try json.objects(upTo: "bookmark")
                #expect(try eventually { try Fields(agent.status()).array("subscribers").count == 2 })
                try agent.defaults("write", "a.b", "Password", "-string", "hunter\(agent.pid)")
                let change = try json.object()
                #expect("\(change)".contains("(sensitive)") && !"\(change)".contains("hunter"))
                #expect(tail.line()?.contains("\"(sensitive)\"") == true)
                try agent.defaults("write", "a.b", "Size", "-int", "\(agent.pid % 70)")
                #expect(try agent.defaults("read", "a.b", "Password").output == "hunter\(agent.pid)\n")
                let log = try agent.defaults("log", "a.b").output
                #expect(log.contains("Size") && !log.contains("hunter"), "\(log)")
                agent.kill()
            }
            let files = [place.runtime, place.state + "/defaultsd"].flatMap { directory in
                namesOfFiles(in: directory).map { "\(directory)/\($0)" }
            }
            for file in files where (try? RawFile.status(file).st_mode).map({ $0 & S_IFMT == S_IFREG }) == true {
                #expect(!String(decoding: try RawFile.read(file), as: UTF8.self).contains("hunter"), "\(file)")
            }
        }
    }

    @Test("While a manifest can't be read, its sensitive keys stay out of the history")
    func unreadableSensitive() throws {
        try AgentProcess.withPlace { place in
            try place.describe("a.b", with: Self.secret)
            try AgentProcess(place).terminate()
            try RawFile.write("{ torn", to: "\(place.manifests)/a.b.plist")
            let agent = try AgentProcess(place)
            defer { agent.kill() }
            try agent.defaults("write", "a.b", "Password", "-string", "hunter2")
            try agent.defaults("write", "a.b", "Other", "-string", "known")
            let log = try RawFile.read(place.log())
            #expect(String(decoding: log, as: UTF8.self).contains("known"))
            #expect(!String(decoding: log, as: UTF8.self).contains("hunter2"))
        }
    }

    @Test(
        "While a directory of manifests may be on a disk that isn't there, its sensitive keys stay out of the history",
        arguments: ["link", "link above", "missing"])
    func missingDirectory(_ way: String) throws {
        try AgentProcess.withPlace { place in
            try place.describe("a.b", with: Self.secret)
            try AgentProcess(place).terminate()
            let directory = way == "link above" ? Path.directory(of: place.manifests) : place.manifests
            #expect(rename(directory, directory + ".disk") == 0)
            if way != "missing" { #expect(symlink(directory + ".elsewhere", directory) == 0) }
            let agent = try AgentProcess(place)
            defer { agent.kill() }
            try agent.defaults("write", "a.b", "Password", "-string", "hunter2")
            #expect(!String(decoding: try RawFile.read(place.log()), as: UTF8.self).contains("hunter2"))
            // Once it is there, it counts.
            if way != "missing" { unlink(directory) }
            #expect(rename(directory + ".disk", directory) == 0)
            try place.describe("a.b", with: Self.size)
            #expect(
                try eventually(within: 30) {
                    try agent.defaults("write", "a.b", "Password", "-string", "\(UInt64.random(in: 0 ... .max))known")
                    return String(decoding: try RawFile.read(place.log()), as: UTF8.self).contains("known")
                })
        }
    }

    // MARK: Enforced manifests

    /// Runs a test with a directory for data that only root can write to.
    private func withTrustedData(_ body: (String) throws -> Void) throws {
        var template = Array("/var/lib/defaultsd-test-XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else { throw TestSystemError("mkdtemp") }
        let data = String(cString: made)
        chmod(data, 0o755)
        defer { _ = try? Programs.run("/bin/rm", ["-r", data]) }
        try body(data)
    }

    @Test(
        "An edit that breaks an enforced manifest is refused with the rule, and nothing else is",
        .enabled(if: geteuid() == 0))
    func enforced() throws {
        try withTrustedData { data in
            try AgentProcess.withPlace { place in
                try place.describe(
                    "a.b", with: Self.size + "," + Self.theme, "pfm_enforced = <*BY>;",
                    in: "\(data)/defaultsd/manifests")
                // The user's own manifest can't lift it.
                try place.describe("a.b", with: "{ pfm_name = \"{{value}}\"; pfm_type = string; }")
                let agent = try AgentProcess(place, launcher: ["/usr/bin/env", "XDG_DATA_DIRS=\(data)"])
                defer { agent.kill() }
                let connection = try agent.connect()
                let domain = Domain(try DomainName("a.b"))
                func edit(_ values: Difference) throws {
                    _ = try connection.edit(domain, with: values, replacesAll: false, expecting: nil, origin: nil)
                }
                try edit(["Size": 12, "Theme": "dark"])
                for (values, message) in [
                    (["Size": 99], "\"Size\" must be at most 72."), (["Theme": 1], "\"Theme\" must be a string."),
                    (["Size": 13, "Theme": "pink"], "\"Theme\" must be one of \"light\", \"dark\"."),
                    (["Other": 1], "\"Other\" is not a key that the manifest describes."),
                ] as [(Difference, String)] {
                    let error = #expect(throws: DefaultsError.self) { try edit(values) }
                    #expect(error?.code == .invalidValue)
                    #expect(error?.description.hasPrefix(message) == true, "\(error?.description ?? "")")
                    #expect(error?.description.contains("\(data)/defaultsd/manifests/a.b.plist is enforced") == true)
                }
                try edit(["Theme": nil])
                #expect(try connection.snapshot(of: domain).values == ["Size": 12])
                // A foreign writer isn't stopped, but reported; its values don't stop other edits.
                try RawFile.replace(place.path("a.b"), with: Array("{ Size = <*I99>; Other = 1; }".utf8))
                try agent.synchronize()
                #expect(try violations(agent) == ["a.b Other unknown", "a.b Size maximum"])
                // Nor is an edit refused for values that it leaves as they are.
                try edit(["Size": 99, "Theme": "light"])
                #expect(try connection.snapshot(of: domain).values == ["Size": 99, "Other": "1", "Theme": "light"])
                // The command says it before it asks the agent.
                let outcome = try agent.run(["write", "a.b", "Size", "-int", "100"])
                #expect(outcome.status == 65)
                #expect(
                    outcome.errors.contains("\"Size\" must be at most 72. Nothing was changed"), "\(outcome.errors)")
            }
        }
    }

    @Test("A program learns from its next save that a value was refused", .enabled(if: geteuid() == 0))
    func refusedInTheLibrary() throws {
        try withTrustedData { data in
            try AgentProcess.withPlace { place in
                try place.describe(
                    "a.b", with: Self.size + "," + Self.theme, "pfm_enforced = <*BY>;",
                    in: "\(data)/defaultsd/manifests")
                let agent = try AgentProcess(place, launcher: ["/usr/bin/env", "XDG_DATA_DIRS=\(data)"])
                defer { agent.kill() }
                let client = Client(.success(try Location(environment: Environment(place.environment))))
                defer { client.close() }
                let opened = DefaultsKit.UserDefaults(suiteName: "a.b", in: client)
                let defaults = try #require(opened)
                let size = DefaultsKey("Size", default: 0)
                for round in 1...20 {
                    defaults[size] = 10
                    try defaults.save()
                    defaults[size] = 1_000
                    let error = #expect(throws: DefaultsProblem.self) { try defaults.save() }
                    #expect(error?.description.hasPrefix("\"Size\" must be at most 72.") == true)
                    #expect(error?.code == .value)
                    #expect(defaults[size] == 10)
                    try defaults.save()
                    let theme = round.isMultiple(of: 2) ? "dark" : "light"
                    defaults.withTransaction { values in
                        values[size] = 4_000
                        values.set(.string(theme), forKey: "Theme")
                    }
                    #expect(!defaults.synchronize())
                    #expect(defaults[size] == 10 && defaults.string(forKey: "Theme") != theme)
                    // Only a transaction is made as a whole.
                    defaults.setPersistentDomain(["Size": 4_000, "Theme": theme], forName: "a.b")
                    #expect(!defaults.synchronize())
                    #expect(defaults[size] == 10 && defaults.string(forKey: "Theme") == theme)
                    defaults.withTransaction { values in values[size] += 1_000 }
                    #expect(defaults[size] == 10)
                    try defaults.save()
                }
            }
        }
    }

    @Test("A manifest that others than root can write isn't enforced, and the agent's log says so")
    func untrusted() throws {
        try AgentProcess.withAgent(prepare: { try $0.describe("a.b", with: Self.size, "pfm_enforced = <*BY>;") }) {
            agent in
            let outcome = try agent.defaults("write", "a.b", "Size", "-int", "99")
            #expect(outcome.status == 0)
            #expect(outcome.errors.contains("\"Size\" must be at most 72."))
            #expect(try violations(agent) == ["a.b Size maximum"])
            #expect(agent.complaints().contains("a.b.plist is not enforced, because users other than root may write"))
        }
    }

    @Test("An app has the keys that the build plugin makes, and registers the defaults of the installed manifest")
    func typedKeys() throws {
        try AgentProcess.withAgent(prepare: {
            try $0.describe(
                "org.example.editor", with: "{ pfm_name = LineHeight; pfm_type = real; pfm_default = <*R2>; }")
        }) { agent in
            let app = try Programs.run(Programs.describedApp, [], environment: agent.place.environment)
            #expect(
                app.output == """
                    org.example.editor 14 light
                    FontSize must be 6 to 72.
                    20 dark 2 Optional(2.0)
                    org.example.viewer nil

                    """)
            #expect(app.errors == "" && app.status == 0)
            let values = try agent.defaults("read", "--json", "org.example.editor").output
            #expect(values == "{\"FontSize\":20,\"Theme\":\"dark\",\"default\":[\"a\",\"b\"]}\n")
        }
    }
}
