import DefaultsCore
import Foundation
import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// Completion as a user sees it: a line is typed into a shell, then Tab, then Enter.
@Suite("Completion on a terminal", .enabled(if: ForeignProcess.hasPython))
struct TypedCompletionTests {
    /// The installed shells, each with the line that loads its completions.
    private static let shells = [
        ("bash", "source '\(scripts)/defaults.bash'"),
        ("zsh", "PS1=; fpath=('\(scripts)' $fpath); autoload -Uz compinit; compinit -u -D"),
        ("fish", "source '\(scripts)/defaults.fish'"),
    ].filter { access("/usr/bin/\($0.0)", X_OK) == 0 }

    private static let scripts = Repository.path + "/Config/completions"

    /// Texts that a shell or its history expansion doesn't take literally.
    private static let hostile = [
        "`evil`", "$(evil)", "${IFS}x", "$'evil'", "'q'", "\"q\"", "'", "\"", "!'\"", "a\\b\\", "\\`evil\\`",
        " two  words ", ";evil", "&evil", "|evil", ">evil", "!!", "!evil", "\"!evil\"", "'!evil'", "*", "?[a]", "~",
        "~root",
        "#c", ":a:b", "=x=y", "{a,b}", "(evil)", "^a^b", "%s", "@host", "é ü", "\u{301}`evil`", "\"\u{301}`evil`\"",
    ]
    /// The hostile texts, each after a unique prefix that can be typed.
    private static let names = hostile.enumerated().map { "k\($0 + 10)\($1)" }

    /// Runs a test where `defaults` logs its arguments and `evil` leaves a file if it ever runs.
    private static func withPlace(_ body: (AgentProcess.Place, [String: String]) throws -> Void) throws {
        try AgentProcess.withPlace { place in
            try Programs.shell(
                """
                mkdir bin 'sub dir'
                printf '#!/bin/sh\\n[ "$1" != ---completion ] || exec "$REAL" "$@"\\n' >bin/defaults
                printf 'printf "%%s\\\\0" "$@" >"$HOME/log"\\n' >>bin/defaults
                printf '#!/bin/sh\\n>"$HOME/ran"\\n' >bin/evil
                chmod +x bin/defaults bin/evil
                """, in: place.root)
            var environment = place.environment
            environment["PATH"] = "\(place.root)/bin:\(ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin")"
            environment["REAL"] = Programs.defaults
            environment["HOME"] = place.root
            environment["DEFAULTSD_SOCKET"] = ""
            environment["LC_ALL"] = "C.UTF-8"
            try body(place, environment)
            #expect(!RawFile.exists(place.root + "/ran"), "Completing a name has run the program in it.")
        }
    }

    private static func write(_ keys: [String], to path: String) throws {
        let values = Dictionary(uniqueKeysWithValues: keys.map { ($0, PropertyListValue.integer(1)) })
        try RawFile.write(PropertyListValue.dictionary(values).write(as: .binary), to: path)
    }

    /// Types lines and expects `defaults` to be called with the arguments of each.
    private func check(
        _ cases: [(line: String, arguments: [String])], _ shell: (name: String, setup: String),
        _ environment: [String: String]
    ) throws {
        let results = try TypedLines.run(
            cases.map { "defaults " + $0.line }, in: shell.name, setup: shell.setup, environment: environment)
        #expect(results.count == cases.count)
        for (result, (line, arguments)) in zip(results, cases) {
            #expect(result == arguments, "\(shell.name): \(line)")
        }
    }

    @Test("A completed key reaches the command literally, whatever quote began it, and runs nothing", arguments: shells)
    func keys(shell: (String, String)) throws {
        try Self.withPlace { place, environment in
            try Self.write(Self.names, to: place.path("a.b"))
            let cases = Self.names.flatMap { name in
                ["", "'", "\""].map { quote in
                    (line: "read a.b \(quote)\(name.prefix(3))", arguments: ["read", "a.b", name])
                }
            }
            try check(cases, shell, environment)
        }
    }

    @Test("A key is completed from an empty word, and in bash from half of the key", arguments: shells)
    func parts(shell: (String, String)) throws {
        try Self.withPlace { place, environment in
            var cases: [(String, [String])] = []
            // fish gets no names that begin with a tilde, which it would have expanded.
            for (number, key) in Self.hostile.enumerated() where shell.0 != "fish" || !key.hasPrefix("~") {
                try Self.write([key], to: place.path("own\(number)"))
                cases += ["", "'", "\""].map { ("read own\(number) \($0)", ["read", "own\(number)", key]) }
                // fish has other escapes, and its own quotes on both sides of what is typed.
                guard shell.0 == "bash", key.count > 1 else { continue }
                let half = String(Substring(key.unicodeScalars.prefix(key.unicodeScalars.count / 2 + 1)))
                let escaped = half.unicodeScalars.reduce(into: "") { $0 += "\\\($1)" }
                let single = half.unicodeScalars.reduce(into: "'") { $0 += $1 == "'" ? "'\\''" : String($1) }
                let double = half.unicodeScalars.reduce(into: "\"") {
                    $0 += "\"$`\\".unicodeScalars.contains($1) ? "\\\($1)" : $1 == "!" ? "\"\\!\"" : String($1)
                }
                cases += [escaped, single, double].map { ("read own\(number) \($0)", ["read", "own\(number)", key]) }
            }
            try check(cases, shell, environment)
        }
    }

    @Test("A completed domain or file reaches the command literally", arguments: shells)
    func domains(shell: (String, String)) throws {
        try Self.withPlace { place, environment in
            for name in Self.names {
                try Self.write(["k"], to: place.path(name))
                try Self.write(["k"], to: "\(place.root)/f\(name)")
            }
            let cases = Self.names.flatMap { name in
                [
                    ("export \(name.prefix(3))", ["export", name]),
                    ("import a.b f\(name.prefix(3))", ["import", "a.b", "f\(name)"]),
                    ("read ./f\(name.prefix(3))", ["read", "./f\(name)"]),
                ]
            }
            try check(cases, shell, environment)
        }
    }

    @Test("Directories, files, verbs, options and formats are completed", arguments: shells)
    func options(shell: (String, String)) throws {
        try Self.withPlace { place, environment in
            try RawFile.write("", to: place.root + "/sub dir/so:ck et")
            try check(
                [
                    // zsh removes the slash again.
                    ("--directory su", ["--directory", shell.0 == "zsh" ? "sub dir" : "sub dir/"]),
                    ("--socket sub\\ dir/so", ["--socket", "sub dir/so:ck et"]),
                    ("import a.b sub\\ dir/so", ["import", "a.b", "sub dir/so:ck et"]),
                    ("read ./sub\\ dir/so", ["read", "./sub dir/so:ck et"]),
                    ("tail --cursor-file 'sub dir/s", ["tail", "--cursor-file", "sub dir/so:ck et"]),
                    ("convert --to b", ["convert", "--to", "binary"]), ("expo", ["export"]),
                    ("read a.b --js", ["read", "a.b", "--json"]),
                ], shell, environment)
        }
    }

    @Test("A name with control characters, or one that looks like an option, isn't offered", arguments: shells)
    func leftOut(shell: (String, String)) throws {
        try Self.withPlace { place, environment in
            let controls = [
                "\n", "\u{1B}", "\u{7F}", "\u{85}", "\u{9B}", "\u{202E}", "\u{2028}", "\u{2066}", "\u{200F}",
            ]
            try Self.write(controls.map { "key\($0)`evil`" } + ["key-kept"], to: place.path("a.b"))
            try Self.write(["--exec=evil"], to: place.path("c.d"))
            try check(
                [
                    ("read a.b key", ["read", "a.b", "key-kept"]), ("tail c.d ", ["tail", "c.d"]),
                    ("tail -- c.d ", ["tail", "--", "c.d", "--exec=evil"]),
                ], shell, environment)
        }
    }

    @Test(
        "Names with colons and equals signs are completed as one word in bash",
        arguments: shells.filter { $0.0 == "bash" })
    func breaks(shell: (String, String)) throws {
        try Self.withPlace { place, environment in
            try Self.write(["x:y=z w", "plain"], to: place.path("a:b=c"))
            try check(
                [
                    ("read a:", ["read", "a:b=c"]), ("read a:b=c x:y", ["read", "a:b=c", "x:y=z w"]),
                    ("read a:b=c x:y=", ["read", "a:b=c", "x:y=z w"]), ("read a:b=c p", ["read", "a:b=c", "plain"]),
                    ("read 'a:b'=c 'x':\"y", ["read", "a:b=c", "x:y=z w"]),
                ], shell, environment)
        }
    }
}
