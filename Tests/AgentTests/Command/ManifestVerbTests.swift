import DefaultsCore
import Foundation
import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// Manifests in the command, with and without an agent.
@Suite("Manifests and the command")
struct ManifestVerbTests {
    private static let manifest = """
        { pfm_name = Size; pfm_type = integer; pfm_title = "Font size"; pfm_description = "Of text.";
          pfm_default = <*I14>;
          pfm_range_min = <*I6>; pfm_range_max = <*I72>; pfm_value_unit = points; },
        { pfm_name = Theme; pfm_type = string; pfm_range_list = (light, dark); pfm_range_list_titles = (Light, Dark); },
        { pfm_name = Style; pfm_type = integer; pfm_flags = <*BY>; pfm_range_list = (<*I1>, <*I2>, <*I4>);
          pfm_range_list_titles = (bold, italic, wide); pfm_default = <*I1>; },
        { pfm_name = Password; pfm_type = string; pfm_sensitive = <*BY>; },
        { pfm_name = Frame; pfm_type = string; pfm_scope = machine; },
        { pfm_name = LastCheck; pfm_type = date; pfm_scope = noise; pfm_hidden = <*BY>; },
        { pfm_name = Proxy; pfm_type = dictionary; pfm_subkeys = (
          { pfm_name = Host; pfm_type = string; pfm_require = always; },
          { pfm_name = Token; pfm_type = string; pfm_sensitive = <*BY>; }); }
        """
    private static func noString(_ value: String) -> String {
        "\"Size\" must be a whole number, but is a string; use -int \(value)."
    }
    private static let unknown = "is not a key that the manifest describes."

    private static func write(_ arguments: String..., fails errors: String, strictly: Bool = false) -> CommandCase {
        CommandCase(
            commands: [["write"] + (strictly ? ["--strict"] : []) + ["a.b"] + arguments], status: strictly ? 65 : 0,
            errors: errors.isEmpty ? "" : "defaults: \(errors)\n")
    }

    static let checks: [CommandCase] = [
        write("Size", "-int", "12", fails: ""),
        write("Size", "-int", "99", fails: "\"Size\" must be at most 72."),
        write("Size", "-int", "99", fails: "\"Size\" must be at most 72. Nothing was changed.", strictly: true),
        write("Size", "12", fails: noString("12")),
        write(
            "Size", "big",
            fails: "\"Size\" must be a whole number, and not a string: `defaults write` sets one with -int."),
        // A value that is there already is still asked for.
        CommandCase(
            files: ["p/a.b.plist": "{ Size = <*I99>; }"],
            commands: [["write", "--strict", "a.b", "Size", "-int", "99"]],
            status: 65, errors: "defaults: \"Size\" must be at most 72. Nothing was changed.\n"),
        write("Theme", "-string", "pink", fails: "\"Theme\" must be one of \"light\", \"dark\"."),
        write("Siez", "-int", "1", fails: "\"Siez\" \(unknown) Did you mean \"Size\"?"),
        write(
            "Siez", "-int", "1", fails: "\"Siez\" \(unknown) Did you mean \"Size\"? Nothing was changed.",
            strictly: true),
        write("Proxy", "-dict", "Host", "h", "Prt", "1", fails: "\"Proxy.Prt\" \(unknown)"),
        write("Proxy", "-dict", "Token", "t", fails: "\"Proxy.Host\" is required."),
        write(
            "Proxy.Host", "h",
            fails: "\"Proxy.Host\" \(unknown) It describes \"Host\" in the dictionary \"Proxy\": put --key-path before "
                + "the domain.\n"
                + "defaults: The domain a.b has no \"Proxy\", so a key named \"Proxy.Host\" was created. To set a "
                + "value inside \"Proxy\", put --key-path before the domain."),
        write("Proxy", "-dict", "Host", "h", "Tokne", "1", fails: "\"Proxy.Tokne\" \(unknown) Did you mean \"Token\"?"),
        write("Style", "-int", "9", fails: "\"Style\" must be a sum of 1, 2, 4."),
        // An earlier fault inside a dictionary isn't this edit's.
        CommandCase(
            files: ["p/a.b.plist": "{ Proxy = { Host = h; Old = 1; }; }"],
            commands: [["write", "--strict", "--key-path", "a.b", "Proxy.Host", "i"], ["read", "a.b", "Proxy.Host"]],
            output: "i\n"),
        CommandCase(
            files: ["p/a.b.plist": "{ Password = geheim; }"], commands: [["explain", "a.b", "Password"]],
            output: "* you, any host  $P/a.b.plist  \"(sensitive)\"\n"),
        CommandCase(
            files: ["p/a.b.plist": "{ Password = geheim; Size = <*I9>; }"],
            commands: [["record", "--all", "--without-secrets", "--commands", "a.b"]],
            output: "defaults write a.b Size -int 9\n"),
        CommandCase(
            files: ["p/a.b.plist": "{ Password = geheim; }"],
            commands: [["record", "--all", "--without-secrets", "a.b"]], status: 1,
            errors: "defaults: All values are secret, and --without-secrets leaves them out.\n"),
        // The whole domain is replaced.
        write("{ Size = 1; }", fails: noString("1")),
        // Only what an edit changes is checked.
        CommandCase(
            files: ["p/a.b.plist": "{ Size = <*I99>; Other = 1; }"],
            commands: [["write", "--strict", "a.b", "Theme", "dark"], ["read", "a.b", "Theme"]], output: "dark\n"),
        CommandCase(
            commands: [
                ["write", "--key-path", "a.b", "Proxy.Host", "h"],
                ["write", "--strict", "a.b", "Proxy.Host", "-int", "1"],
            ],
            status: 65, errors: "defaults: \"Proxy.Host\" must be a string. Nothing was changed.\n"),
        CommandCase(
            files: ["p/a.b.plist": "{ Size = <*I99>; Other = 1; }"],
            commands: [["import", "--strict", "a.b", "-"]], input: "{ Size = <*I99>; Other = 1; Theme = dark; }"),
        CommandCase(commands: [["write", "--strict", "$R/a.b.plist", "Size", "-int", "99"]]),
        CommandCase(
            commands: [["import", "--strict", "a.b", "-"]], input: "{ Size = <*I12>; Theme = pink; }", status: 65,
            errors: "defaults: \"Theme\" must be one of \"light\", \"dark\". Nothing was changed.\n"),
        CommandCase(
            commands: [["import", "a.b", "-"]], input: "{ Size = <*I99>; Theme = dark; }",
            errors: "defaults: \"Size\" must be at most 72.\n"),
    ]

    /// Settings beside a secret, a window's place, a time, and a key that isn't described.
    private static let mixed = """
        { Size = <*I20>; Password = geheim; Frame = x; LastCheck = 1; Other = 2; Proxy = { Host = h; Token = t; }; }
        """

    static let uses: [CommandCase] = [
        CommandCase(
            files: ["p/a.b.plist": "{ Size = <*I20>; Password = geheim; }"], commands: [["describe", "a.b"]],
            output: """
                Size         integer, 6 to 72 points    20
                Theme        string: "light", "dark"    \("")
                Style        flags: bold, italic, wide  (1)
                Password     string                     (sensitive)
                Frame        string                     \("")
                Proxy.Host   string                     \("")
                Proxy.Token  string                     \("")

                """),
        CommandCase(
            files: ["p/a.b.plist": "{ Proxy = { Host = h; }; }"], commands: [["describe", "a.b", "Proxy.Host"]],
            output: """
                Proxy.Host

                  type       string
                  value      "h"
                  is         required

                """),
        CommandCase(
            files: ["p/a.b.plist": "{ Size = <*I99>; }"], commands: [["describe", "a.b", "Size"]],
            output: """
                Size  Font size

                  Of text.

                  type       integer, 6 to 72 points
                  default    14
                  value      99
                  "Size" must be at most 72.

                """),
        .fails(
            ["describe", "a.b", "Siez"], status: 1, "The manifest of a.b has no key \"Siez\". Did you mean \"Size\"?"),
        CommandCase(
            commands: [["describe", "--json", "a.b", "Theme"]],
            output: """
                {"choices":[{"title":"Light","value":"light"},{"title":"Dark","value":"dark"}],"key":"Theme",\
                "rule":"string: \\"light\\", \\"dark\\"","scope":"roaming","type":"string"}

                """),
        CommandCase(
            commands: [["explain", "a.b", "Size"]],
            output: "  default  $H/share/defaultsd/manifests/a.b.plist  14\n"),
        CommandCase(
            files: ["p/a.b.plist": "{ Size = <*I20>; Theme = dark; LastCheck = 1; Other = 2; }"],
            commands: [["reset", "a.b"], ["read", "--json", "a.b"]],
            output: "{\"LastCheck\":\"1\",\"Other\":\"2\"}\n"),
        CommandCase(
            files: ["p/a.b.plist": "{ Size = <*I20>; Theme = dark; Other = 2; }"], commands: [["reset", "a.b"]],
            output: "a.b Size  20 → 14\na.b Theme  \"dark\" → (none)\n"),
        CommandCase(
            files: ["p/a.b.plist": "{ Size = <*I20>; Theme = dark; }"],
            commands: [["reset", "a.b", "Theme", "--dry-run"], ["read", "a.b", "Theme"]],
            output: "dark\n"),
        .fails(
            ["reset", "a.b", "Siez"], status: 1,
            "The manifest of a.b has no key \"Siez\"; nothing is reset. Did you mean \"Size\"?"),
        .fails(
            ["reset", "c.d"], status: 1,
            "c.d has no manifest. It would be in $H/share/defaultsd/manifests/c.d.plist or "
                + "$T/share/defaultsd/manifests/c.d.plist."),
        CommandCase(
            files: ["p/a.b.plist": mixed], commands: [["export", "--settings-only", "a.b", "$R/out.plist"]],
            errors:
                "defaults: Left out, at least in part: \"Frame\", \"LastCheck\", \"Other\", \"Password\" and 1 "
                + "more.\n"),
        CommandCase(
            files: ["p/a.b.plist": mixed],
            commands: [
                ["export", "--settings-only", "a.b", "$R/out.plist"], ["convert", "--to", "json", "$R/out.plist", "-"],
            ],
            output: "{\"Proxy\":{\"Host\":\"h\"},\"Size\":20}\n"),
    ]

    static let flags: [CommandCase] = [
        .prints(["write", "a.b", "Style", "-flag", "bold", "wide"], ["read", "a.b", "Style"], output: "5"),
        // The default counts until the key has a value.
        .prints(["write", "a.b", "Style", "-flag-add", "italic"], ["read", "a.b", "Style"], output: "3"),
        .prints(["write", "a.b", "Style", "-flag-remove", "bold"], ["read", "a.b", "Style"], output: "0"),
        .prints(["write", "a.b", "Style", "-flag"], ["read", "a.b", "Style"], output: "0"),
        .fails(
            ["write", "a.b", "Style", "-flag", "bald"], status: 64,
            "\"bald\" is not a flag of \"Style\"; leaving defaults unchanged. The flags are bold, italic, wide."),
        .fails(
            ["write", "a.b", "Size", "-flag", "bold"], status: 64,
            "The manifest of a.b doesn't describe \"Size\" as flags; leaving defaults unchanged."),
    ]

    @Test(
        "An edit is checked by the manifest, and the manifest is used, with and without an agent",
        arguments: checks + uses + flags)
    func same(_ row: CommandCase) throws {
        try row.check { place in
            try place.describe("a.b", with: Self.manifest, in: "\(place.root)/home/share/defaultsd/manifests")
        }
    }

    @Test("Schemas of KConfig and GSettings become manifests, also if another file can't be read")
    func importing() throws {
        try AgentProcess.withAgent { agent in
            let place = agent.place
            let files = [
                "bad.gschema.xml": "<!DOCTYPE a [<!ENTITY b \"c\">]><schemalist/>",
                "editor.kcfg": """
                <kcfg><kcfgfile name="editorrc"/><group name="View">
                  <entry name="Format" type="Enum"><choices><choice name="Plain"/><choice name="Rich"/></choices>
                    <default>TextFormat::Rich</default></entry>
                  <entry name="Width" type="Int"><min>1</min><max>99</max><default>80</default></entry>
                </group></kcfg>
                """,
                "org.example.gs.gschema.xml": """
                <schemalist><enum id="org.example.mode"><value nick="a" value="0"/><value nick="b" value="1"/></enum>
                  <schema id="org.example.GS" path="/org/example/gs/">
                    <key name="size" type="i"><range min="1" max="9"/><default>3</default></key>
                    <key name="mode" enum="org.example.mode"><default>'b'</default></key>
                    <key name="pair" type="(is)"><default>(1, 'x')</default></key>
                  </schema></schemalist>
                """,
            ]
            for (name, text) in files { try RawFile.write(text, to: "\(place.root)/\(name)") }
            func defaults(_ arguments: [String]) throws -> Programs.Outcome {
                try Programs.run(Programs.defaults, arguments, environment: place.environment)
            }
            let paths = files.keys.sorted().map { "\(place.root)/\($0)" }
            let imported = try defaults(["manifest", "import"] + paths)
            #expect(imported.status == 65 && imported.errors.contains("bad.gschema.xml: "), "\(imported)")
            let editor = try defaults(["describe", "editorrc"])
            #expect(
                editor.output == """
                    View.Format  string: "Plain", "Rich"  ("Rich")
                    View.Width   integer, 1 to 99         (80)

                    """, "\(editor)")
            #expect(
                try defaults(["describe", "org.example.gs"]).output == """
                    size  integer, 1 to 9    (3)
                    mode  string: "a", "b"   ("b")
                    pair  array, 2 elements  ([1,"x"])

                    """)
            let names = ["editorrc", "org.example.gs"].map { "\(place.manifests)/\($0).plist" }
            let check = try defaults(["manifest", "check", "--quiet"] + names)
            #expect(check.output == "" && check.status == 0, "\(check)")
        }
    }

    @Test("Schemas of GSettings are named by path, and relocatable ones by the paths that contain them or a pattern")
    func paths() throws {
        try AgentProcess.withPlace { place in
            let text = """
                <schemalist>
                  <schema id="org.example.Proxy" path="/system/a.b/">
                    <key name="mode" type="s"><default>'none'</default></key>
                    <key name="authentication-password" type="s"><default>''</default></key>
                    <key name="use-password" type="b"><default>false</default></key>
                    <child name="http" schema="org.example.part"/><child name="ftp" schema="org.example.part"/>
                  </schema>
                  <schema id="org.example.part"><key name="port" type="i"><default>80</default></key></schema>
                  <schema id="org.example.keys.binding"><key name="key" type="s"><default>''</default></key></schema>
                  <schema id="org.gnome.Terminal.Legacy.Profile">
                    <key name="font" type="s"><default>'Mono'</default></key></schema>
                  <schema id="org.gtk.gtk4.Settings.EmojiChooser" path="/org/gtk/gtk4/settings/emoji-chooser/">
                    <key name="recent-emoji" type="as"><default>[]</default></key></schema>
                </schemalist>
                """
            let path = "\(place.root)/a.gschema.xml"
            func defaults(_ arguments: String...) throws -> Programs.Outcome {
                let environment = place.environment.merging(["DEFAULTSD_SOCKET": ""]) { $1 }
                return try Programs.run(Programs.defaults, arguments, environment: environment)
            }
            try RawFile.write(text, to: path)
            let imported = try defaults("manifest", "import", path)
            #expect(imported.status == 0 && imported.errors == "", "\(imported)")
            for (domain, key) in [
                ("system.a%2Eb.http", "port"), ("system.a%2Eb.ftp", "port"),
                ("org.example.keys.bindings.custom0", "key"), ("org.gnome.terminal.legacy.profiles:.:1-2", "font"),
            ] {
                let described = try defaults("describe", domain).output
                #expect(described.hasPrefix("\(key) ") && described.split(separator: "\n").count == 1, "\(domain)")
            }
            #expect(try defaults("describe", "org.example.Proxy").status == 1)
            let mode = try defaults("describe", "system.a%2Eb", "mode")
            #expect(mode.status == 0, "\(mode)")
            let manifest = try String(contentsOfFile: "\(place.manifests)/system.a%2Eb.plist", encoding: .utf8)
            #expect(manifest.split(separator: "pfm_sensitive").count == 2, "\(manifest)")
            let noise = try defaults("describe", "org.gtk.gtk4.settings.emoji-chooser", "recent-emoji")
            #expect(noise.output.contains("not a setting"), "\(noise)")
            for wrong in ["path=\"a/\"", "path=\"\""] {
                try RawFile.write(text.replacing("path=\"/system/a.b/\"", with: wrong), to: path)
                let refused = try defaults("manifest", "import", path)
                #expect(refused.status == 65, "\(refused)")
                #expect(refused.errors.contains("must begin and end with a slash"), "\(refused)")
            }
            try RawFile.write(text.replacing("org.example.keys.binding", with: "../x"), to: path)
            #expect(try defaults("manifest", "import", path).status == 65)
        }
    }

    /// Imports schemas, checks the manifest of a domain, and returns its description and the notes.
    private func imported(_ files: [String: String], as name: String) throws -> (description: String, notes: String) {
        try AgentProcess.withPlace { place in
            for (name, text) in files { try RawFile.write(text, to: "\(place.root)/\(name)") }
            func defaults(_ arguments: [String]) throws -> Programs.Outcome {
                let environment = place.environment.merging(["DEFAULTSD_SOCKET": ""]) { $1 }
                return try Programs.run(Programs.defaults, arguments, environment: environment)
            }
            let imported = try defaults(["manifest", "import"] + files.keys.sorted().map { "\(place.root)/\($0)" })
            let check = try defaults(["manifest", "check", "\(place.manifests)/\(name).plist"])
            #expect(check.output == "" && check.errors == "" && check.status == 0, "\(check)")
            return (try defaults(["describe", name]).output, imported.errors)
        }
    }

    @Test("Schemas of KConfig are imported as its compiler reads them")
    func kconfig() throws {
        let (description, notes) = try imported(
            [
                "a.kcfg": """
                <kcfg><kcfgfile name="brc"/><group name="G">
                  <entry name="C$(i)" key="C $(i)" type="Int"><parameter name="i" type="Int" max="1"/><max>0x20</max>
                    <default>010</default><default param="1">0x15</default></entry>
                  <entry name="E$(e)" type="String"><parameter name="e" type="Enum"><values><value>x</value>
                    <value>y</value></values></parameter><default param="y"> two  blanks </default></entry>
                  <entry name="T" type="Time"><default>12:30:05</default></entry>
                  <entry name="L" type="StringList"><default>a, b</default></entry>
                  <entry name="S" type="Size"><default>QSize(8,6)</default></entry>
                  <entry name="N"><default></default></entry>
                  <entry name="T" type="Int"/>
                  <entry name="P$(p)" type="Int"><parameter name="p" type="Int"/></entry>
                </group><group name="H" parentGroupName="G"><entry name="K" type="Bool"><default>true</default></entry>
                </group><group name="$(v)"><entry name="V"/></group></kcfg>
                """,
                "b.kcfg": """
                <kcfg><kcfgfile name="brc" stateConfig="true"/><group name="J"><entry name="K" type="Double"/></group>
                </kcfg>
                """,
            ], as: "brc")
        #expect(
            description == """
                G.C 0  integer, at most 32  (8)
                G.C 1  integer, at most 32  (21)
                G.Ex   string               
                G.Ey   string               (" two  blanks ")
                G.T    string               ("12,30,5,0")
                G.L    array                (["a"," b"])
                G.S    string               
                G.N    string               ("")
                G.H.K  boolean              (true)
                J.K    real                 

                """)
        for part in [
            "\"S\" isn't one that it allows: QSize(8,6)", "\"T\" occurs more than once", "group \"$(v)\" is",
            "\"P$(p)\" has the parameter p without values",
        ] {
            #expect(notes.contains(part), "\(notes)")
        }
    }

    @Test("Schemas of GSettings are imported as GLib reads them, with the defaults of vendors")
    func gsettings() throws {
        let (description, notes) = try imported(
            [
                "a.gschema.xml": """
                <schemalist><schema id="org.example.a" path="/org/example/a/">
                  <key name="variants" type="av">
                    <default>[&lt;'x'&gt;, &lt;uint32 5&gt;, &lt;[true]&gt;]</default></key>
                  <key name="options" type="a{sv}"><default>{'a': &lt;1.5&gt;}</default></key>
                  <key name="presets" type="a{ss}"><default>[]</default></key>
                  <key name="octal" type="x"><default>010</default></key>
                  <key name="twice" type="s"><default>'a'</default></key>
                  <key name="twice" type="i"><default>1</default></key>
                  <key name="vendor" type="s"><default>'a'</default></key>
                </schema></schemalist>
                """,
                "10.gschema.override":
                    "# Of the vendor\r\n[org.example.a]\r\nvendor='b'\nno=1\n[org.example.a:KDE]\noctal=7\n",
            ], as: "org.example.a")
        #expect(
            description == """
                variants  array       (["x",5,[true]])
                options   dictionary  ({"a":1.5})
                presets   dictionary  ({})
                octal     integer     (8)
                twice     string      ("a")
                vendor    string      ("b")

                """)
        for part in [
            "\"twice\" occurs more than once", "On KDE, the default of key \"octal\" is 7", "has no key \"no\"",
        ] {
            #expect(notes.contains(part), "\(notes)")
        }
    }

    @Test("An import adds keys to an existing manifest, and replaces none without --force")
    func addedKeys() throws {
        try AgentProcess.withPlace { place in
            func schema(_ group: String, _ type: String) throws -> String {
                let path = "\(place.root)/\(group)-\(type).kcfg"
                let entry = "<entry name=\"K\" type=\"\(type)\"/>"
                try RawFile.write(
                    "<kcfg><kcfgfile name=\"brc\"/><group name=\"\(group)\">\(entry)</group></kcfg>", to: path)
                return path
            }
            func defaults(_ arguments: String...) throws -> Programs.Outcome {
                let environment = place.environment.merging(["DEFAULTSD_SOCKET": ""]) { $1 }
                return try Programs.run(Programs.defaults, arguments, environment: environment)
            }
            #expect(try defaults("manifest", "import", schema("A", "Int")).status == 0)
            #expect(try defaults("manifest", "import", schema("B", "Int")).status == 0)
            #expect(try defaults("describe", "brc").output == "A.K  integer  \nB.K  integer  \n")
            let other = try defaults("manifest", "import", schema("A", "Bool"))
            #expect(other.status == 0 && other.errors.contains("keeps its descriptions: A.K. Use --force"), "\(other)")
            #expect(try defaults("describe", "brc").output == "A.K  integer  \nB.K  integer  \n")
            #expect(try defaults("manifest", "import", "--force", schema("A", "Bool")).status == 0)
            #expect(try defaults("describe", "brc").output == "A.K  boolean  \n")
            // Unusable parts of the file would be lost.
            try RawFile.write("{ pfm_subkeys = (x); }", to: "\(place.manifests)/brc.plist")
            let refused = try defaults("manifest", "import", schema("B", "Int"))
            #expect(refused.status == 65 && refused.errors.contains("Nothing was added to this file"), "\(refused)")
        }
    }

    @Test("An import that adds keys to a manifest keeps its comments and its order, or changes nothing")
    func comments() throws {
        try AgentProcess.withPlace { place in
            let schema = "\(place.root)/b.kcfg"
            try RawFile.write(
                """
                <kcfg><kcfgfile name="brc"/><group name="A"><entry name="K" type="Int"/><entry name="L"/></group>
                <group name="B"><entry name="M" type="Bool"/></group></kcfg>
                """, to: schema)
            func defaults(_ arguments: String...) throws -> Programs.Outcome {
                let environment = place.environment.merging(["DEFAULTSD_SOCKET": ""]) { $1 }
                return try Programs.run(Programs.defaults, arguments, environment: environment)
            }
            func manifest(_ inner: String, _ outer: String) -> String {
                """
                <!-- Mine -->
                <plist version="1.0"><dict>
                  <key>pfm_subkeys</key>
                  <array> <!-- groups -->
                    <dict>
                      <key>pfm_type</key><string>dictionary</string>
                      <key>pfm_subkeys</key>
                      <array>
                        <!-- K -->
                        <dict><key>pfm_type</key><string>integer</string><key>pfm_name</key><string>K</string></dict>
                        <!-- last -->
                \(inner)      </array>
                      <key>pfm_name</key><string>A</string>
                    </dict>
                \(outer)  </array>
                  <key>pfm_domain</key><string>brc</string>
                </dict></plist>

                """
            }
            let path = "\(place.manifests)/brc.plist"
            try place.describe("brc", with: "")
            try RawFile.write(manifest("", ""), to: path)
            let imported = try defaults("manifest", "import", "--to", place.manifests, schema)
            #expect(imported.status == 0 && imported.output == "\(path) (3 keys)\n", "\(imported)")
            let inner = """
                        <dict>
                          <key>pfm_name</key>
                          <string>L</string>
                          <key>pfm_type</key>
                          <string>string</string>
                        </dict>

                """
            let outer = """
                    <dict>
                      <key>pfm_name</key>
                      <string>B</string>
                      <key>pfm_subkeys</key>
                      <array>
                        <dict>
                          <key>pfm_name</key>
                          <string>M</string>
                          <key>pfm_type</key>
                          <string>boolean</string>
                        </dict>
                      </array>
                      <key>pfm_type</key>
                      <string>dictionary</string>
                    </dict>

                """
            #expect(try String(decoding: RawFile.read(path), as: UTF8.self) == manifest(inner, outer))
            let again = try defaults("manifest", "import", "--to", place.manifests, schema)
            #expect(again.errors.contains("has all these keys"), "\(again)")
            // Text in the old style can't express all values of a manifest, so it would be written anew.
            let text = "{ /* Mine */ pfm_domain = brc; pfm_subkeys = (); }"
            try RawFile.write(text, to: path)
            let refused = try defaults("manifest", "import", "--to", place.manifests, schema)
            #expect(refused.status == 65 && refused.errors.contains("its comments would be lost"), "\(refused)")
            #expect(try RawFile.read(path) == Array(text.utf8))
            // Without comments, it is written anew, with the entries that have no effect here.
            try RawFile.write(
                "{ pfm_domain = brc; pfm_subkeys = ({ pfm_name = A; pfm_type = dictionary; pfm_require = push; }); }",
                to: path)
            let rewritten = try defaults("manifest", "import", "--to", place.manifests, schema)
            #expect(rewritten.status == 0 && rewritten.output == "\(path) (3 keys)\n", "\(rewritten)")
            #expect(try String(decoding: RawFile.read(path), as: UTF8.self).contains("<string>push</string>"))
        }
    }

    @Test("Without a manifest, nothing is checked, even with --strict")
    func noManifest() throws {
        try CommandCase(commands: [["write", "--strict", "a.b", "Size", "-string", "x"]]).check()
    }

    @Test("A profile is refused as a whole if a value in it breaks a manifest")
    func profiles() throws {
        try AgentProcess.withAgent(prepare: { try $0.describe("c.d", with: Self.manifest) }) { agent in
            let profile = "\(agent.place.root)/p.plist"
            let entries = "{ Domain = \"a.b\"; Set = { k = 1; }; }, { Domain = \"c.d\"; Set = { Size = <*I99>; }; }"
            try RawFile.write("{ Domains = (\(entries)); }", to: profile)
            let outcome = try agent.defaults("apply", "--strict", profile)
            #expect(outcome.status == 65)
            #expect(outcome.errors.contains("\"Size\" must be at most 72. Nothing was changed."), "\(outcome.errors)")
            #expect(try agent.defaults("read", "a.b").status == 1)
        }
    }
}
