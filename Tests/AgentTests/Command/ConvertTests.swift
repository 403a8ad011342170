import Foundation
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// The verb `convert`: its formats, and its treatment of files.
@Suite("The verb `convert`")
struct ConvertTests {
    private static let value: PropertyListValue = [
        "data": .data([10, 11]), "flag": true, "list": [1, 1.5], "text": "é \"q\"",
        "when": .date(PropertyListDate(secondsSinceReferenceDate: 0)),
    ]

    private static func run(_ arguments: [String], in root: String, input: String = "") throws -> Programs.Outcome {
        try Programs.run(
            "/bin/sh", ["-c", "cd '\(root)'; exec \"$@\"", "sh", Programs.defaults, "convert"] + arguments, input: input
        )
    }

    @Test(
        "A property list in any format can be converted to any other",
        arguments: PropertyListFormat.allCases,
        [("xml", PropertyListFormat.xml), ("binary", .binary), ("old-style", .oldStyle)])
    func formats(from: PropertyListFormat, to: (name: String, format: PropertyListFormat)) throws {
        try withTemporaryDirectory { root in
            try RawFile.write(Self.value.write(as: from), to: root + "/in")
            let outcome = try Self.run(["--to", to.name, "in", "out"], in: root)
            #expect(outcome.status == 0 && outcome.output == "" && outcome.errors == "")
            let read = try PropertyListValue.read(RawFile.read(root + "/out"))
            #expect(read.format == to.format)
            #expect(read.value == Self.value.asStored(in: from).asStored(in: to.format))
            // Standard output gets the same bytes. Binary output is left out here: it can't be read as a string.
            guard to.format != .binary else { return }
            let printed = try Self.run(["--to", to.name, "in"], in: root)
            #expect(try Array(printed.output.utf8) == RawFile.read(root + "/out"))
        }
    }

    @Test("JSON output has objects for types it lacks, and an output file's name selects JSON")
    func json() throws {
        try withTemporaryDirectory { root in
            try RawFile.write(Self.value.write(as: .binary), to: root + "/in")
            let expected = """
                {"data":{"$data":"Cgs="},"flag":true,"list":[1,1.5],"text":"é \\"q\\"",\
                "when":{"$date":"2001-01-01T00:00:00Z"}}

                """
            #expect(try Self.run(["--to", "json", "in", "-"], in: root).output == expected)
            #expect(try Self.run(["in", "out.json"], in: root).status == 0)
            #expect(try RawFile.read(root + "/out.json") == Array(expected.utf8))
        }
    }

    @Test("`-` reads standard input, and the default is XML on standard output")
    func streams() throws {
        let outcome = try Self.run(["-"], in: "/", input: "(a)")
        #expect(try Array(outcome.output.utf8) == (["a"] as PropertyListValue).write(as: .xml))
    }

    @Test(
        "A damaged input is reported with its file and the position, and left alone",
        arguments: [
            (
                "{a = 1;\n b = ", [], 65,
                "bad: Old-style property list, line 2, column 6 (byte 13): expected a value, found the end of the text."
            ),
            (
                "<plist>\n<dict>\n<key>k</kex>", [], 65,
                "bad: XML property list, line 3, column 7 (byte 21): expected </key>, found </kex>."
            ),
            ("bplist00junk", [], 65, nil),
            ("{a = \"\\001\";}", ["--to", "xml"], 65, nil),
        ] as [(String, [String], Int32, String?)])
    func damaged(content: String, options: [String], status: Int32, message: String?) throws {
        try withTemporaryDirectory { root in
            try RawFile.write(content, to: root + "/bad")
            // Even converted onto itself, the file stays as it is.
            let outcome = try Self.run(options + ["bad", "bad"], in: root)
            #expect(outcome.status == status && outcome.output == "")
            if let message { #expect(outcome.errors == "defaults: \(message)\n") }
            #expect(outcome.errors.hasPrefix("defaults: bad: ") && outcome.errors.hasSuffix(".\n"))
            #expect(try RawFile.read(root + "/bad") == Array(content.utf8))
            #expect(namesOfFiles(in: root) == ["bad"])
        }
    }

    @Test("A missing input ends with status 66, and an output that can't be created with status 73")
    func missing() throws {
        try withTemporaryDirectory { root in
            let missing = try Self.run(["none"], in: root)
            #expect(
                missing.status == 66 && missing.errors == "defaults: none can't be read: No such file or directory.\n")
            #expect(try Self.run(["."], in: root).status == 66)
            try RawFile.write("{}", to: root + "/in")
            let nowhere = try Self.run(["in", "none/out"], in: root)
            #expect(nowhere.status == 73)
            #expect(nowhere.errors == "defaults: none/out can't be written: No such file or directory.\n")
            #expect(namesOfFiles(in: root) == ["in"])
        }
    }

    @Test("A dangling link's target is created, and the umask applies to a new file's permissions")
    func newFiles() throws {
        try withTemporaryDirectory { root in
            try Programs.shell(
                """
                mkdir d
                ln -s d/new first
                ln -s first second
                echo '{}' >in
                chmod 666 in
                umask 027
                '\(Programs.defaults)' convert in second
                """, in: root)
            #expect(try RawFile.status(root + "/second").st_mode & S_IFMT == S_IFLNK)
            #expect(try RawFile.status(root + "/d/new").st_mode == S_IFREG | 0o640)
            #expect(namesOfFiles(in: root + "/d") == ["new"])
        }
    }

    @Test("An output that is a circular link is reported, and nothing is written")
    func badLinks() throws {
        try withTemporaryDirectory { root in
            try Programs.shell("echo '{}' >in; ln -s l l", in: root)
            let circle = try Self.run(["in", "l"], in: root)
            #expect(circle.status == 73)
            #expect(circle.errors == "defaults: l can't be written: Too many levels of symbolic links.\n")
            #expect(namesOfFiles(in: root).sorted() == ["in", "l"])
            #expect(try RawFile.status(root + "/l").st_mode & S_IFMT == S_IFLNK)
        }
    }

    @Test("Another user's file keeps its group if possible; otherwise the group loses its permissions")
    func groups() throws {
        // Only root can run a program as another user.
        guard geteuid() == 0 else { return }
        try withTemporaryDirectory { root in
            chmod(root, 0o777)
            for name in ["ours", "theirs"] {
                try RawFile.write("{}", to: "\(root)/\(name)")
                #expect(chown("\(root)/\(name)", 0, name == "ours" ? 65_533 : 0) == 0)
                chmod("\(root)/\(name)", 0o664)
                let outcome = try Programs.run(
                    "/usr/bin/setpriv",
                    [
                        "--reuid=65534", "--regid=65534", "--groups=65534,65533", Programs.defaults, "convert",
                        "\(root)/\(name)", "\(root)/\(name)",
                    ])
                #expect(outcome.status == 0, "\(outcome.errors)")
            }
            let (ours, theirs) = (try RawFile.status(root + "/ours"), try RawFile.status(root + "/theirs"))
            #expect((ours.st_uid, ours.st_gid, ours.st_mode & 0o777) == (65_534, 65_533, 0o664))
            #expect((theirs.st_uid, theirs.st_gid, theirs.st_mode & 0o777) == (65_534, 65_534, 0o604))
        }
    }

    @Test(
        "An output path that leads to an open descriptor is written through it, and earlier text stays",
        arguments: [
            ("/dev/stdout", ">>out"), ("/dev/fd/1", ">>out"), ("/proc/self/fd/1", ">>out"), ("out", ">>out"),
            ("link", ">>out"), ("/dev/fd/3", "3>>out"), ("/proc/thread-self/fd/3", "3>>out"),
        ])
    func descriptors(path: String, redirection: String) throws {
        try withTemporaryDirectory { root in
            try Programs.shell(
                """
                ln -s /dev/stdout link
                echo before >out
                ln out other
                {
                    echo '(a)' | '\(Programs.defaults)' convert --to old-style - \(path)
                    echo after >&\(redirection.hasPrefix("3") ? 3 : 1)
                } \(redirection)
                """, in: root)
            #expect(try RawFile.read(root + "/out") == Array("before\n(\n    a\n)\nafter\n".utf8))
            #expect(try RawFile.read(root + "/other") == RawFile.read(root + "/out"))
            #expect(namesOfFiles(in: root).sorted() == ["link", "other", "out"])
        }
    }

    @Test("A file converted in place keeps its permissions and links, and a new file gets the input's permissions")
    func permissions() throws {
        try withTemporaryDirectory { root in
            try RawFile.write("{}", to: root + "/in")
            chmod(root + "/in", 0o640)
            symlink("in", root + "/link")
            #expect(try Self.run(["--to", "binary", "link", "link"], in: root).status == 0)
            #expect(try RawFile.status(root + "/link").st_mode & S_IFMT == S_IFLNK)
            #expect(try RawFile.status(root + "/in").st_mode & 0o777 == 0o640)
            #expect(try RawFile.read(root + "/in").starts(with: "bplist00".utf8))
            #expect(try Self.run(["in", "new"], in: root).status == 0)
            #expect(try RawFile.status(root + "/new").st_mode & 0o777 == 0o640)
            #expect(try Self.run(["-", "piped"], in: root, input: "{}").status == 0)
            #expect(try RawFile.status(root + "/piped").st_mode & 0o777 == 0o600)
        }
    }
}
