import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// Files whose names are not UTF-8, such as files from other systems and old archives.
@Suite("Files whose names are not UTF-8")
struct BytePathTests {
    /// Runs a script in which `$e` is "é" in Latin-1, `$y` is another byte that isn't UTF-8, and `defaults` is the
    /// command.
    private func run(_ script: String, _ body: (Programs.Outcome, AgentProcess.Place) throws -> Void) throws {
        try AgentProcess.withPlace { place in
            let names = "e=$(printf '\\351'); y=$(printf '\\377'); defaults() { '\(Programs.defaults)' \"$@\"; }"
            let environment = place.environment.merging(["DEFAULTSD_SOCKET": ""]) { $1 }
            let outcome = try Programs.shell("\(names)\n\(script)", in: place.runtime, environment: environment)
            try body(outcome, place)
        }
    }

    @Test(
        "A path's bytes reach the system unchanged",
        arguments: [
            // With invalid bytes repaired, both names would be the same text.
            (
                "echo '(1)' >c$e; echo '(2)' >c$y; defaults convert --to json c$e; defaults convert --to json c$y",
                "[\"1\"]\n[\"2\"]"
            ),
            ("echo '(1)' >c$e; defaults convert c$e o$y.json; cat o$y.json", "[\"1\"]"),
            ("echo '(1)' >c$e; defaults convert --to json -- c$e -$y; cat ./-$y", "[\"1\"]"),
            (
                "mkdir d$e; echo '(1)' >d$e/in; defaults convert --to json d$e/in \"$PWD/d$e/out\"; cat d$e/out",
                "[\"1\"]"
            ),
            // The second file has the name that messages show for the first.
            ("echo '(1)' >c$e; echo '(2)' >'c\\xe9'; defaults convert c$e o.json; cat o.json", "[\"1\"]"),
            ("echo '{k = v;}' >c$e; defaults import a.b ./c$e; defaults read a.b k", "v"),
            ("echo '{k = v;}' >c$e; defaults IMPORT a.b c$e; defaults read a.b k", "v"),
            ("defaults write a.b k v; defaults export a.b c$e; defaults convert --to json c$e", "{\"k\":\"v\"}"),
            ("echo '{k = v;}' >c$e; defaults write a.b k v; defaults diff a.b c$e && echo same", "same"),
            ("ln -s t$e l; echo '(1)' | defaults convert - l; defaults convert --to json t$e; test -L l", "[\"1\"]"),
        ])
    func bytes(script: String, output: String) throws {
        try run(script) { outcome, _ in
            #expect(outcome.output == output + "\n" && outcome.errors == "" && outcome.status == 0)
        }
    }

    @Test(
        "Messages show a path's invalid bytes as escapes",
        arguments: [
            ("defaults convert é$e", 66, "é\\xe9 can't be read: No such file or directory."),
            ("defaults import a.b \"$PWD\"/$y$e", 66, "$T/\\xff\\xe9 can't be read: No such file or directory."),
            ("echo '(1' >c$e; defaults convert c$e", 65, nil),
            ("echo '(1)' | defaults convert - d$e/x", 73, "d\\xe9/x can't be written: No such file or directory."),
        ] as [(String, Int32, String?)])
    func messages(script: String, status: Int32, message: String?) throws {
        try run(script) { outcome, place in
            #expect(outcome.status == status && outcome.output == "")
            let expected = (message ?? "c\\xe9: Old-style property list, line 2, column 1 (byte 3): ")
                .replacing("$T", with: place.runtime)
            #expect(outcome.errors.hasPrefix("defaults: \(expected)"), "\(outcome.errors)")
        }
    }

    @Test(
        "An argument that is not a file's path must be UTF-8",
        arguments: [
            "write a.b k -string c$e", "write a.b k c$e", "write import k c$e", "write ./c$e k v", "read $PWD/c$e",
            "export c$e -", "export ./c$e -", "import --force c$e -", "convert --to c$e in", "convert -$e in",
            "-app c$e export -", "--directory c$e export a.b -", "export --directory c$e a.b -", "c$e", "help c$e",
            "diff c$e", "tail --cursor-file c$e",
        ])
    func text(arguments: String) throws {
        try run("echo '(1)' >in; defaults \(arguments)") { outcome, place in
            #expect(outcome.status == 64 && outcome.output == "")
            let isKnown = arguments == "diff c$e" ? "Give either a second domain or file" : "\\xe9\" is not UTF-8"
            #expect(outcome.errors.contains(isKnown), "\(outcome.errors)")
            #expect(place.files == [] && namesOfFiles(in: place.runtime) == ["in"])
        }
    }
}
