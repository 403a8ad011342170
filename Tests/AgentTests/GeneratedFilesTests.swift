import Foundation
import ProgramSupport
import TestSupport
import Testing

/// The files in Config that are made of the programs' own descriptions.
///
/// `REGENERATE=1 swift test --filter GeneratedFilesTests` makes them anew.
@Suite("Generated files")
struct GeneratedFilesTests {
    /// The directory Config of the checkout.
    private static let config = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../Config").standardizedFileURL.path

    private static let isWriting = ProcessInfo.processInfo.environment["REGENERATE"] != nil

    private func check(_ text: String, _ name: String) throws {
        let path = "\(Self.config)/\(name)"
        if Self.isWriting { try RawFile.write(text, to: path) }
        let isCurrent = try RawFile.read(path) == Array(text.utf8)
        #expect(isCurrent, "\(name) is old: `REGENERATE=1 swift test --filter GeneratedFilesTests` makes it anew.")
    }

    @Test(
        "The completion scripts are what the command makes",
        arguments: [("bash", "defaults.bash"), ("zsh", "_defaults"), ("fish", "defaults.fish")])
    func completions(shell: String, name: String) throws {
        let outcome = try Programs.run(Programs.defaults, ["--generate-completion-script", shell])
        #expect(outcome.status == 0)
        try check(outcome.output, "completions/\(name)")
    }

    @Test("The manual pages tell the options that the programs have")
    func manuals() throws {
        try check(ManualPage.ofCommand().text, "man/defaults.1")
        try check(ManualPage.ofAgent().text, "man/defaultsd.8")
    }

    @Test("Every verb has examples of its own name")
    func examples() throws {
        for verb in try CommandDescription(of: Programs.defaults).verbs {
            #expect((2...4).contains(verb.examples.count), "\(verb.commandName)")
            #expect(verb.examples.allSatisfy { $0.contains(verb.commandName) }, "\(verb.commandName)")
            // With their indentation: --help breaks longer lines.
            #expect(verb.examples.allSatisfy { $0.count <= 78 }, "\(verb.commandName)")
        }
    }

    @Test("An example that sets a string does so with -string, in guides, help, settings and manual pages")
    func typedStrings() throws {
        let root = URL(fileURLWithPath: Self.config).deletingLastPathComponent().path
        let files = try FileManager.default.subpathsOfDirectory(atPath: root + "/Sources").map { "Sources/\($0)" }
            .filter { $0.hasSuffix(".md") || ($0.hasPrefix("Sources/DefaultsCommand/") && $0.hasSuffix(".swift")) }
        let others = [
            "README.md", "Config/org.defaultsd.agent.plist", "Config/man/defaults.1", "Config/man/defaultsd.8",
        ]
        for file in files + others {
            let text = try String(decoding: RawFile.read("\(root)/\(file)"), as: UTF8.self)
            // A domain, a key, and a value without a type, other than a placeholder.
            let examples = text.matches(
                of: /\bdefaults (?:-\S+ )*write (?:-\S+ )*(?:\S+\.\S+|-g) [^\s`<'-]\S* [^\s`<-][^\n`]*/
            )
            .map { String($0.output) }
            let untyped = examples.filter { !$0.contains("--json") }
            #expect(untyped == [], "\(file)")
        }
    }

    @Test(
        "mandoc finds nothing wrong with the manual pages", .enabled(if: access("/usr/bin/mandoc", X_OK) == 0),
        arguments: ["defaults.1", "defaultsd.8"])
    func lint(name: String) throws {
        let outcome = try Programs.run(
            "/usr/bin/mandoc", ["-T", "lint", "-W", "warning", "\(Self.config)/man/\(name)"])
        #expect(outcome.status == 0 && outcome.output == "", "\(outcome.output)")
    }
}
