import DefaultsCore
import Foundation
import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// The shells' completions by the scripts in Config/completions.
@Suite("Shell completion")
struct CompletionTests {
    private static let scripts = Repository.path + "/Config/completions"

    /// Creates domains and keys whose names a shell could misinterpret.
    private static func makeDomains(_ place: AgentProcess.Place) throws {
        let hostile: DomainValues = [
            "it's": 1, "$(touch pwned)": 1, "`touch pwned`": 1, "a\\b": 1, "c:d": 1, "\"q\"": 1, "new\nline": 1,
        ]
        try RawFile.makeDirectory(place.root + "/share")
        try RawFile.makeDirectory(place.root + "/share/applications")
        try RawFile.write("[Desktop Entry]", to: place.root + "/share/applications/org.example.App.desktop")
        for (name, values) in [
            ("a.b", ["size": 1, "two words": 1]), ("My App", hostile), (".GlobalPreferences", ["all": 1]),
        ] as [(String, DomainValues)] {
            try RawFile.write(PropertyListValue.dictionary(values).write(as: .binary), to: place.path(name))
        }
        try place.describe(
            "d.e",
            with: """
                { pfm_name = Size; pfm_type = integer; }, { pfm_name = Secret; pfm_type = string; pfm_hidden = <*BY>; },
                { pfm_name = Style; pfm_type = integer; pfm_flags = <*BY>; pfm_range_list = (<*I1>, <*I2>);
                  pfm_range_list_titles = (bold, "very wide"); },
                { pfm_name = Theme; pfm_type = string; pfm_range_list = (light, dark); }
                """, in: "\(place.root)/share/defaultsd/manifests")
    }

    private static let keysOfMyApp = [
        #"\"q\""#, #"\$\(touch\ pwned\)"#, #"\`touch\ pwned\`"#, #"a\\b"#, "c:d", #"it\'s"#,
    ]

    /// Command lines up to the cursor, and the completions of the last word as bash inserts them.
    private static let lines: [(String, [String])] = [
        ("defaults read ", [#"My\ App"#, "NSGlobalDomain", "a.b"]), ("defaults read a", ["a.b"]),
        ("defaults read My", [#"My\ App"#]), ("defaults read a.b ", ["size", #"two\ words"#]),
        ("defaults read a.b s", ["size"]), ("defaults read -g ", ["all"]), ("defaults read NSGlobalDomain ", ["all"]),
        ("defaults write \"My App\" ", keysOfMyApp), ("defaults write My\\ App ", keysOfMyApp),
        ("defaults read 'My App' ", keysOfMyApp), ("defaults -host H read ", ["NSGlobalDomain"]),
        ("defaults diff a.b a", ["a.b"]), ("defaults sync a.b M", [#"My\ App"#]),
        ("defaults exp", ["explain", "export"]),
        ("defaults explain a.b t", [#"two\ words"#]), ("defaults tail a.b size t", [#"two\ words"#]),
        ("defaults read ~/p/a", ["~/p/a.b.plist"]), ("defaults read ~/p/a.b t", [#"two\ words"#]),
        ("defaults read -app org", ["org.example.App"]),
        ("defaults read nothing ", []), ("defaults write a.b size ", []), ("defaults convert --to b", ["binary"]),
        ("defaults edit -cur", ["-currentHost"]),
        // Of a manifest: keys that were never set, the types of values, and the values of a list.
        ("defaults write d.e S", ["Size", "Style"]), ("defaults write d.e Size ", ["-int"]),
        ("defaults write d.e Theme ", ["-string", "dark", "light"]), ("defaults write d.e Theme -string d", ["dark"]),
        ("defaults write d.e Style -flag ", ["bold", #"very\ wide"#]), ("defaults reset d.e Size T", ["Theme"]),
    ]

    /// Completes a line in bash, as the Tab key does.
    private static func bash(_ line: String, _ environment: [String: String]) throws -> Programs.Outcome {
        let script = """
            cd "$HOME"
            source '\(scripts)/defaults.bash'
            COMP_LINE=$1 COMP_POINT=${#1}
            # The last word as it was typed, quotes and all.
            word='' quote=''
            for ((i = 0; i < ${#COMP_LINE}; i++)); do
                c=${COMP_LINE:i:1}
                if [[ -n $quote ]]; then word+=$c; [[ $c == "$quote" ]] && quote=''
                elif [[ $c == '\\' ]]; then ((i++)); word+=$c${COMP_LINE:i:1}
                elif [[ $c == [\\'\\"] ]]; then word+=$c; quote=$c
                elif [[ $c == ' ' ]]; then word=''
                else word+=$c; fi
            done
            __defaults_complete defaults "$word"
            ((${#COMPREPLY[@]})) && printf '%s\\n' "${COMPREPLY[@]}"
            true
            """
        return try Programs.run("/bin/bash", ["-c", script, "bash", line], environment: environment)
    }

    private static func environment(_ place: AgentProcess.Place) throws -> [String: String] {
        let path = "\(Programs.directory):\(ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin")"
        return place.environment.merging([
            "PATH": path, "HOME": place.root, "XDG_DATA_HOME": place.root + "/share", "XDG_DATA_DIRS": "/none",
        ]) { $1 }
    }

    @Test(
        "`bash` completes verbs, options, domains and keys, and runs no code in their names", arguments: [true, false])
    func bash(hasAgent: Bool) throws {
        try AgentProcess.withPlace { place in
            try Self.makeDomains(place)
            let agent = hasAgent ? try AgentProcess(place) : nil
            defer { agent?.kill() }
            var environment = try Self.environment(place)
            if !hasAgent { environment["DEFAULTSD_SOCKET"] = "" }
            for (line, expected) in Self.lines {
                let completed = try Self.bash(line, environment)
                #expect(completed.output.split(separator: "\n").map(String.init).sorted() == expected, "\(line)")
                #expect(completed.errors == "", "\(line)")
            }
            #expect(!RawFile.exists(place.root + "/pwned"))
        }
    }

    @Test("Completion doesn't wait for a stopped agent")
    func stopped() throws {
        try AgentProcess.withAgent(prepare: Self.makeDomains) { agent in
            agent.signal(SIGSTOP)
            defer { agent.signal(SIGCONT) }
            let start = ContinuousClock.now
            let outcome = try Programs.run(
                Programs.defaults, ["---completion", "read", "--", "positional@0", "2", "0", "defaults", "read", ""],
                environment: agent.place.environment)
            #expect(outcome.output == "My App\nNSGlobalDomain\na.b\n")
            // The command waits for the agent for a twentieth of this; the rest allows for a loaded machine.
            #expect(ContinuousClock.now - start < .seconds(1))
        }
    }

    /// Lines with a single possible completion, and the words of the completed line.
    private static let whole: [(String, [String])] = [
        ("defaults read My", ["defaults", "read", "My App"]), ("defaults expl", ["defaults", "explain"]),
        ("defaults read a.b tw", ["defaults", "read", "a.b", "two words"]),
        ("defaults read \"My App\" it", ["defaults", "read", "My App", "it's"]),
        ("defaults read My\\ App c", ["defaults", "read", "My App", "c:d"]),
        ("defaults -currentHost read NS", ["defaults", "-currentHost", "read", "NSGlobalDomain"]),
        ("defaults read -g a", ["defaults", "read", "-g", "all"]),
        ("defaults read -host H N", ["defaults", "read", "-host", "H", "NSGlobalDomain"]),
    ]

    @Test("`zsh` completes verbs, domains and keys on a terminal", .enabled(if: access("/usr/bin/zsh", X_OK) == 0))
    func zsh() throws {
        let script = """
            zmodload zsh/zpty
            zpty z 'zsh -f -i'
            zpty -w z "PS1= ; unsetopt prompt_sp; fpath=('\(Self.scripts)' \\$fpath); autoload -Uz compinit
            compinit -u -D; print REA''DY"
            zpty -r z out '*READY*'
            zpty -n -w z "$1"$'\\t\\x01print -rl -- RES""ULT \\x05 "EN"D\\n'
            zpty -r z out '*RESULT*END*'
            print -r -- "${out#*RESULT}"
            """
        try AgentProcess.withAgent(prepare: Self.makeDomains) { agent in
            for (line, words) in Self.whole {
                let outcome = try Programs.run(
                    "/usr/bin/timeout", ["30", "zsh", "-fc", script, "zsh", line],
                    environment: try Self.environment(agent.place))
                let lines = outcome.output.split(whereSeparator: \.isNewline).map(String.init)
                #expect(Array(lines.prefix { $0 != "END" }) == words, "\(outcome)")
            }
        }
    }

    @Test(
        "`fish` completes verbs, domains and keys on a terminal",
        .enabled(if: access("/usr/bin/fish", X_OK) == 0 && ForeignProcess.hasPython))
    func fish() throws {
        let script = #"""
            import os, pty, re, select, sys
            pid, fd = pty.fork()
            if pid == 0:
                os.environ["TERM"] = "dumb"
                os.execvp("fish", ["fish", "--private", "-N", "-i", "-C", f"source {sys.argv[1]}; echo REA''DY"])
            out = b""
            def until(mark):
                global out
                while not re.search(mark, out, re.S):
                    if not select.select([fd], [], [], 30)[0]: sys.exit(f"nothing came: {out}")
                    out += os.read(fd, 65536)
            until(rb"READY")
            os.write(fd, sys.argv[2].encode() + b"\t\x01printf '%s|' RES''ULT \x05 E''ND\n")
            until(rb"RESULT\|.*END\|")
            print(re.search(rb"RESULT\|(.*?)\|END\|", out, re.S)[1].decode())
            """#
        try AgentProcess.withAgent(prepare: Self.makeDomains) { agent in
            for (line, words) in Self.whole {
                let outcome = try Programs.run(
                    "/usr/bin/env", ["python3", "-c", script, "\(Self.scripts)/defaults.fish", line],
                    environment: try Self.environment(agent.place))
                #expect(outcome.output == words.joined(separator: "|") + "\n", "\(outcome)")
            }
        }
    }
}
