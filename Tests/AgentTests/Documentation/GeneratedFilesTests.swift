import Foundation
import ProgramSupport
import TestSupport
import Testing

/// The files in Config, and the command's option table, which are generated from the programs' own descriptions.
///
/// `REGENERATE=1 swift test --filter GeneratedFilesTests` regenerates them.
@Suite("Generated files")
struct GeneratedFilesTests {
    /// The checkout's Config directory.
    private static let config = Repository.path + "/Config"

    private static let isWriting = ProcessInfo.processInfo.environment["REGENERATE"] != nil

    private func check(_ text: String, _ name: String) throws {
        let path = "\(Self.config)/\(name)"
        if Self.isWriting { try RawFile.write(text, to: path) }
        let isCurrent = try RawFile.read(path) == Array(text.utf8)
        #expect(
            isCurrent, "\(name) is out of date. `REGENERATE=1 swift test --filter GeneratedFilesTests` updates it.")
    }

    @Test(
        "Each completion script in Config is what the command generates",
        arguments: [("bash", "defaults.bash"), ("zsh", "_defaults"), ("fish", "defaults.fish")])
    func completions(shell: String, name: String) throws {
        let outcome = try Programs.run(Programs.defaults, ["--generate-completion-script", shell])
        #expect(outcome.status == 0)
        try check(outcome.output, "completions/\(name)")
    }

    @Test("The manual pages in Config are what the programs' descriptions generate")
    func manuals() throws {
        try check(ManualPage.ofCommand().text, "man/defaults.1")
        try check(ManualPage.ofTail().text, "man/defaults-tail.1")
        try check(ManualPage.ofAgent().text, "man/defaultsd.8")
    }

    @Test("The command's option table is what its own description generates")
    func optionTable() throws {
        try check(OptionTableSource.text(), "../Sources/DefaultsCommand/Arguments/OptionTable.swift")
    }

    @Test("Every verb has two to four examples that name it and fit on a line")
    func examples() throws {
        for verb in try CommandDescription(of: Programs.defaults).verbs {
            #expect((2...4).contains(verb.examples.count), "\(verb.commandName)")
            #expect(verb.examples.allSatisfy { $0.contains(verb.commandName) }, "\(verb.commandName)")
            // 78 columns besides the indentation: --help wraps longer lines.
            #expect(verb.examples.allSatisfy { $0.count <= 78 }, "\(verb.commandName)")
        }
    }

    @Test("Every documented example that writes a string uses -string")
    func typedStrings() throws {
        let root = URL(fileURLWithPath: Self.config).deletingLastPathComponent().path
        let files = try FileManager.default.subpathsOfDirectory(atPath: root + "/Sources").map { "Sources/\($0)" }
            .filter { $0.hasSuffix(".md") || ($0.hasPrefix("Sources/DefaultsCommand/") && $0.hasSuffix(".swift")) }
        let others = [
            "README.md", "Config/org.defaultsd.agent.plist", "Config/man/defaults.1", "Config/man/defaults-tail.1",
            "Config/man/defaults.5", "Config/man/defaultsd.8",
        ]
        for file in files + others {
            let text = try String(decoding: RawFile.read("\(root)/\(file)"), as: UTF8.self)
            // A domain, a key, and a value that has no type and is no placeholder.
            let examples = text.matches(
                of: /\bdefaults (?:-\S+ )*write (?:-\S+ )*(?:\S+\.\S+|-g) [^\s`<'-]\S* [^\s`<-][^\n`]*/
            )
            .map { String($0.output) }
            let untyped = examples.filter { !$0.contains("--json") }
            #expect(untyped == [], "\(file)")
        }
    }

    @Test(
        "`mandoc` reports no warning for a manual page", .enabled(if: access("/usr/bin/mandoc", X_OK) == 0),
        arguments: ["defaults.1", "defaults-tail.1", "defaults.5", "defaultsd.8"])
    func lint(name: String) throws {
        let outcome = try Programs.run(
            "/usr/bin/mandoc", ["-T", "lint", "-W", "warning", "\(Self.config)/man/\(name)"])
        #expect(outcome.status == 0 && outcome.output == "", "\(outcome.output)")
    }
}
