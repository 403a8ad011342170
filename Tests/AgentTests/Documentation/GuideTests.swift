import Foundation
import Glibc
import ProgramSupport
import TestSupport
import Testing

/// The guides for users of the command: each of their commands runs, in order, and prints what the guide shows.
@Suite("The guides for the command line")
struct GuideTests {
    private static let root = Repository.path

    /// A code block of a guide.
    private struct Block {
        let section: String
        let language: String
        /// The file that the paragraph before the block names, such as `~/.gitignore`.
        let file: String?
        var text = ""

        /// The commands, each with the lines that it prints.
        var commands: [(command: String, output: String)] {
            text.components(separatedBy: "\n$ ").map { part in
                let lines = part.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
                return (
                    String(lines[0].hasPrefix("$ ") ? lines[0].dropFirst(2) : lines[0]),
                    lines.count > 1 ? String(lines[1]) : ""
                )
            }
        }
    }

    private static func blocks(of guide: String, in module: String = "DefaultsKit") throws -> [Block] {
        let path = "\(root)/Sources/\(module)/\(module).docc/\(guide).md"
        var (blocks, section, paragraph) = ([Block](), "", "")
        var isInside = false
        for line in try String(contentsOfFile: path, encoding: .utf8).components(separatedBy: "\n") {
            if line.hasPrefix("```") {
                isInside.toggle()
                let file = paragraph.matches(of: /`(~\/[^`]+)`/).last.map { String($0.output.1) }
                if isInside { blocks.append(Block(section: section, language: String(line.dropFirst(3)), file: file)) }
                paragraph = ""
            } else if isInside {
                blocks[blocks.count - 1].text += (blocks[blocks.count - 1].text.isEmpty ? "" : "\n") + line
            } else {
                if line.hasPrefix("#") { section = String(line.drop { "# ".contains($0) }) }
                if !line.isEmpty { paragraph += line }
            }
        }
        return blocks
    }

    /// A user's home with an agent, in which a guide is followed.
    private final class Home {
        private(set) var agent: AgentProcess
        /// The programs that run until the guide ends.
        var followers: [RunningProgram] = []
        private var directory: String

        var path: String { agent.place.root }

        /// Runs a test in a new home that has stand-ins for programs that act outside of it.
        static func with(_ programs: [String: String] = [:], _ body: (Home) throws -> Void) throws {
            try withTemporaryDirectory { path in
                for name in [".config", ".local", ".local/state", ".bin", "run", "system"] {
                    try RawFile.makeDirectory("\(path)/\(name)")
                }
                for (name, script) in programs.merging(["sudo": #"exec "$@""#], uniquingKeysWith: { a, _ in a }) {
                    try RawFile.write("#!/bin/sh\n\(script)\n", to: "\(path)/.bin/\(name)")
                    chmod("\(path)/.bin/\(name)", 0o700)
                }
                let place = AgentProcess.Place(
                    preferences: path + "/.config", runtime: path + "/run", state: path + "/.local/state",
                    isExplicit: false)
                let home = Home(try AgentProcess(place))
                defer {
                    for follower in home.followers { follower.kill() }
                    home.agent.kill()
                }
                try body(home)
            }
        }

        private init(_ agent: AgentProcess) {
            self.agent = agent
            directory = agent.place.root
        }

        private var environment: [String: String] {
            let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
            let ofGit = [
                "GIT_CONFIG_GLOBAL": "\(self.path)/.gitconfig", "GIT_AUTHOR_NAME": "Ada",
                "GIT_AUTHOR_EMAIL": "ada@example.org", "GIT_COMMITTER_NAME": "Ada",
                "GIT_COMMITTER_EMAIL": "ada@example.org",
            ]
            let own = [
                "HOME": self.path, "PATH": "\(self.path)/.bin:\(Programs.directory):\(path)", "DEFAULTS_ORIGIN": "",
            ]
            return agent.place.environment.merging(ofGit) { $1 }.merging(own) { $1 }
        }

        /// Returns text of a guide with this home's directories in place of the usual ones.
        func localized(_ text: String) -> String {
            text.replacingOccurrences(of: "/etc/defaultsd/managed", with: agent.place.managed)
                .replacingOccurrences(of: "/etc/xdg", with: agent.place.system)
                .replacingOccurrences(of: "/usr/local/bin:/usr/bin", with: Programs.directory)
                .replacingOccurrences(of: "/usr/bin", with: Programs.directory)
                .replacingOccurrences(of: "/home/ada", with: path)
        }

        func run(_ command: String) throws -> Programs.Outcome {
            let script = "\(localized(command))\npwd >\"$HOME/.bin/pwd\""
            let outcome = try Programs.shell(script, in: directory, environment: environment)
            if outcome.status == 0 { directory = try text(".bin/pwd").trimmingCharacters(in: .newlines) }
            return outcome
        }

        /// Starts a program that the guide shows.
        func start(_ command: [String]) throws -> RunningProgram {
            try RunningProgram(command[0], Array(command[1...]), environment: environment)
        }

        /// Expects a program to print a value, its change, and another change after a restart of the agent.
        func expectValues(from program: RunningProgram, _ line: (Int) -> String) throws {
            defer { program.kill() }
            try program.expect(line(12))
            try agent.defaults("write", "org.example.editor", "fontSize", "-int", "14")
            try program.expect(line(14))
            try restart()
            try agent.defaults("write", "org.example.editor", "fontSize", "-int", "12")
            try program.expect(line(12))
        }

        /// Kills the agent, and starts another.
        func restart() throws {
            agent.kill()
            agent = try AgentProcess(agent.place)
        }

        /// Starts a command that follows changes, and returns once it does.
        func follow(_ command: String) throws {
            followers.append(
                try RunningProgram("/bin/sh", ["-c", "exec \(localized(command))"], environment: environment))
            let count = followers.filter(\.isRunning).count
            let isFollowing = try eventually(within: 30) {
                try agent.defaults("status").output.components(separatedBy: " behind").count == count + 1
            }
            #expect(isFollowing, "\(command)")
        }

        func text(_ name: String) throws -> String {
            String(decoding: try RawFile.read("\(path)/\(name)"), as: UTF8.self)
        }

        /// Writes the file of a block, or runs its commands and compares what they print.
        func follow(_ block: Block) throws {
            guard block.language == "console" else {
                let file = try #require(block.file, "The guide names no file for: \(block.text)")
                let url = URL(fileURLWithPath: path + file.dropFirst())
                try FileManager.default.createDirectory(
                    at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
                return try RawFile.write(localized(block.text) + "\n", to: url.path)
            }
            for (command, output) in block.commands {
                if command.hasPrefix("defaults tail") {
                    try follow(command)
                    continue
                }
                let outcome = try run(command)
                // Both values that `diff` compares exist, and differ. git reports a conflict. `--strict` refuses.
                let isRefused = output.hasSuffix("Nothing was changed.")
                let status: Int32 =
                    isRefused ? 65 : command.hasPrefix("defaults diff") || output.contains("CONFLICT") ? 1 : 0
                #expect(outcome.status == status && outcome.errors == "", "\(command): \(outcome.errors)")
                #expect(shape(outcome.output) == shape(localized(output)), "\(command)")
            }
        }

        /// Returns lines with placeholders for times and process IDs, and without the widths of columns.
        private func shape(_ text: String) -> String {
            text.replacing(#/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}/#, with: "TIME")
                .replacing(#/pid \d+/#, with: "pid N").replacing(#/ {2,}/#, with: "  ")
                .trimmingCharacters(in: .newlines)
        }
    }

    @Test("Preferences can be kept in git as the guide says, and neither locks nor copies get into the repository")
    func git() throws {
        // The script in the guide doesn't have to wait.
        try Home.with(["sleep": "exit 0"]) { home in
            try RawFile.makeDirectory(home.path + "/.config/ByHost")
            let others = [
                "other.conf", ".defaultsd.1", "a.plist.damaged-1", "ByHost/.defaultsd.2", "ByHost/b.plist.displaced-1",
            ]
            for name in others {
                try RawFile.write("text", to: "\(home.path)/.config/\(name)")
            }
            try Home.with { laptop in
                try Self.publish(from: home, to: laptop)
                var isPublished = false
                for block in try Self.blocks(of: "KeepPreferencesInGit") {
                    let isOnLaptop = block.section == "Use another machine" && isPublished
                    isPublished = block.section == "Use another machine"
                    if block.text.contains("CONFLICT") { try Self.changeBoth(home, laptop) }
                    try (isOnLaptop ? laptop : home).follow(block)
                    if let follower = home.followers.popLast() { try Self.checkCommit(home, by: follower) }
                }
            }
            try home.agent.defaults("-currentHost", "write", "org.example.editor", "x", "-int", "1")
            #expect(try home.run("git status --porcelain ByHost").output == "?? ByHost/\n")
            #expect(try home.run("git add ByHost; git ls-files ByHost | wc -l").output == "1\n")
            // The line for a repository that has other files, too.
            try RawFile.write(".defaultsd.*\n", to: home.path + "/.config/.gitignore")
            let ignored = try home.run("git check-ignore .defaultsd.agent .defaultsd.1 ByHost/.defaultsd.2 | wc -l")
            #expect(ignored.output == "3\n")
            // The repository elsewhere.
            let add = "cd ~/dotfiles; touch .defaultsd.1 a.plist.damaged-1; git init --quiet; git add .; git ls-files"
            #expect(try home.run(add).output == ".gitignore\norg.example.editor.plist\n")
        }
    }

    /// Makes the repository that the guide publishes to, and its address known to both machines.
    private static func publish(from home: Home, to laptop: Home) throws {
        let remote = home.path + "/preferences.git"
        for machine in [home, laptop] {
            let alias = "[url \"\(remote)\"]\n\tinsteadOf = git@example.org:ada/preferences.git\n"
            try RawFile.write(alias, to: machine.path + "/.gitconfig")
        }
        #expect(try home.run("git init --quiet --bare '\(remote)'").status == 0)
    }

    /// Makes and commits the changes of a conflict.
    private static func changeBoth(_ home: Home, _ laptop: Home) throws {
        #expect(try laptop.run("defaults read org.example.editor theme").output == "dark\n")
        for (machine, theme, rest) in [(home, "gray", ""), (laptop, "blue", " && git push --quiet")] {
            let write = "defaults write org.example.editor theme -string \(theme)"
            let outcome = try machine.run("\(write) && git commit --quiet --all --message \(theme)\(rest)")
            #expect(outcome.status == 0, "\(outcome.errors)")
        }
    }

    /// Checks that a follower commits a change, but neither a new file nor the marks of a conflict.
    private static func checkCommit(_ home: Home, by follower: RunningProgram) throws {
        defer { follower.kill() }
        let files = try home.run("git ls-files").output
        try home.agent.defaults("write", "org.example.new", "x", "-int", "1")
        try home.agent.defaults("write", "org.example.editor", "theme", "-string", "light")
        let isCommitted = try eventually {
            try home.run("git log -1 --format=%s").output.hasPrefix("Change org.example.")
                && home.run("git show HEAD:org.example.editor.plist").output.contains("light")
                && !RawFile.exists(home.path + "/.config/.git/index.lock")
        }
        #expect(isCommitted)
        #expect(try home.run("git ls-files").output == files)
        follower.kill()

        let other = "git checkout --quiet -b other HEAD~1 && sed -i s/blue/pink/ org.example.editor.plist"
        let merge = "git commit --quiet --all --message Pink && git checkout --quiet main && git merge --quiet other"
        #expect(try home.run("\(other) && \(merge)").output.contains("CONFLICT"))
        let attempt = try home.run("~/.local/bin/commit-preferences")
        #expect(attempt.status == 0 && attempt.errors == "" && attempt.output == "")
        #expect(try home.run("git ls-files --unmerged").output != "")
        #expect(try home.run("git merge --abort").status == 0)
    }

    @Test("A command runs on a change as the guide says, also as a service that was stopped meanwhile")
    func reaction() throws {
        let programs = ["notify-send": #"echo "$*" >>"$HOME/notified""#, "systemctl": #"echo "$*" >"$HOME/systemctl""#]
        try Home.with(programs) { home in
            for block in try Self.blocks(of: "RunACommandOnAChange") { try home.follow(block) }
            let notified = home.path + "/notified"
            #expect(try eventually { try RawFile.exists(notified) && home.text("notified") == "theme changed\n" })
            #expect(try home.text("systemctl") == "--user enable --now theme\n")
            // The last command of the guide waits for one change.
            try home.agent.defaults("write", "org.example.editor", "theme", "-string", "light")
            #expect(try #require(home.followers.last).status() == 0)
            try #require(home.followers.first).kill()

            let name = ".config/systemd/user/theme.service"
            let unit = try home.text(name)
            if Programs.isInstalled("systemd-analyze") {
                let verified = try home.run("systemd-analyze --user verify --man=no ~/\(name)")
                #expect(verified.status == 0 && verified.errors == "", "\(verified.errors)")
            }
            let start = try #require(unit.firstMatch(of: #/ExecStart=((?:.*\\\n)*.*)/#)).output.1
            let command = start.replacing("\\\n", with: "").replacing("$$", with: "$").replacing("%S", with: home.path)
            try RawFile.makeDirectory(home.path + "/theme")
            try home.follow(String(command))
            try #require(home.followers.last).signal(SIGTERM)
            _ = try #require(home.followers.last).status()
            unlink(home.path + "/notified")
            try home.agent.defaults("write", "org.example.editor", "theme", "-string", "dark")
            try home.follow(String(command))
            #expect(eventually { RawFile.exists(home.path + "/notified") })
        }
    }

    @Test(
        "The commands at the head of a page print what it shows",
        arguments: [
            ("GettingStarted", "DefaultsKit"), ("HowItCompares", "DefaultsKit"), ("WhatYouCanRelyOn", "DefaultsKit"),
            ("WhereValuesComeFrom", "DefaultsKit"), ("ProtocolEdits", "DefaultsCore"),
            ("ProtocolStreams", "DefaultsCore"),
        ])
    func heads(page: String, module: String) throws {
        let blocks = try Self.blocks(of: page, in: module)
        let head = try #require(blocks.first { $0.section == "Overview" && $0.language == "console" })
        try Home.with { home in try home.follow(head) }
    }

    @Test("The last hour is undone and redone as the guide says")
    func undo() throws {
        try Home.with { home in
            for block in try Self.blocks(of: "UndoTheLastHour") { try home.follow(block) }
        }
    }

    @Test("Preferences reach another machine, change and leave it as the guide says")
    func anotherMachine() throws {
        try Home.with { laptop in
            try Home.with(["scp": "cp \"$2\" '\(laptop.path)'"]) { home in
                for block in try Self.blocks(of: "TakePreferencesToAnotherMachine") {
                    try (block.section == "Overview" ? home : laptop).follow(block)
                }
            }
            #expect(try laptop.agent.defaults("read", "org.example.editor").status == 1)
        }
    }

    @Test("A manifest is installed and used as the guide says")
    func manifests() throws {
        try Home.with { home in
            _ = try home.run("mkdir -p ~/.local/share/defaultsd/manifests")
            for block in try Self.blocks(of: "DescribePreferences") where block.section == "Overview" {
                try home.follow(block)
            }
        }
    }

    @Test("An administrator sets and forces values as the guide says", .enabled(if: geteuid() == 0))
    func administration() throws {
        try Home.with { home in
            for block in try Self.blocks(of: "SetPreferencesForAllUsers") where block.section != "With Ansible" {
                try home.follow(block)
            }
        }
    }

    @Test(
        "Ansible forces a value as the guide says",
        .enabled(if: geteuid() == 0 && AnsibleTests.isThere, "Run .ci/ansible as root to install Ansible."))
    func ansible() throws {
        let variables = AnsibleTests.environment(home: "$HOME").map { "\($0)=\"\($1)\"" }.joined(separator: " ")
        let playbook = "exec env \(variables) python3 -m ansible playbook \"$@\" >>\"$HOME/log\""
        try Home.with(["ansible-playbook": playbook]) { home in
            // Instead of another machine, this one, on which there may be no sudo.
            let host =
                "localhost ansible_connection=local ansible_become=false "
                + "ansible_python_interpreter='{{ ansible_playbook_python }}'\n"
            try RawFile.write(host, to: home.path + "/hosts")
            try RawFile.makeDirectory(home.agent.place.managed)
            for block in try Self.blocks(of: "SetPreferencesForAllUsers") where block.section == "With Ansible" {
                try home.follow(block)
            }
            let changes = try home.text("log").matches(of: #/changed=(\d)/#).map { String($0.output.1) }
            #expect(changes == ["1", "1", "0"])
            #expect(try home.run("defaults read --effective org.example.editor fontSize").output == "16\n")
        }
    }

    /// Returns the command that runs a script of a guide; empty if it is none.
    private static func command(of script: String) -> [String] {
        switch script.split(separator: ".").last {
        case "sh": ["bash", script]
        case "js": ["node", script]
        case "lua": ["lua5.4", script]
        // The library for GLib belongs to the system's own Python.
        case "py" where (try? Programs.run("/usr/bin/python3", ["-c", "import gi"]).status) == 0:
            ["sh", "-c", #"exec /usr/bin/python3 "$0""#, script]
        // Its messages go to standard error.
        case "el" where Programs.isInstalled("emacs"):
            [
                "sh", "-c", #"exec emacs --batch -Q -l "$0" --eval '(while t (accept-process-output nil 1))' 2>&1"#,
                script,
            ]
        default: []
        }
    }

    @Test("Each language follows a domain as the guide says, and goes on after the agent was killed")
    func languages() throws {
        try Home.with { home in
            var scripts: [String] = []
            for block in try Self.blocks(of: "UseItFromAnyLanguage") {
                try home.follow(block)
                if let file = block.file { scripts.append(home.path + file.dropFirst()) }
            }
            scripts += ["py", "lua", "el"].map { "\(Self.root)/Tests/Languages/follow.\($0)" }
            for command in scripts.map(Self.command(of:)) {
                guard let interpreter = command.first else { continue }
                guard Programs.isInstalled(interpreter) else {
                    #expect(ProcessInfo.processInfo.environment["CI"] == nil, "CI must install \(interpreter).")
                    continue
                }
                try home.expectValues(from: home.start(command)) { "fontSize = \($0)" }
            }
        }
    }

    /// The compiler of the client in C, with sanitizers.
    private static let compiler = "cc -Wall -Wextra -Werror -g -fsanitize=address,undefined"

    @Test(
        "The client in C follows a domain, and goes on after the agent was killed",
        .enabled(if: Programs.isInstalled("cc") && Programs.isInstalled("pkg-config"), "This needs a C compiler."),
        .enabled(if: (try? Programs.run("pkg-config", ["libplist-2.0"]).status) == 0, "This needs libplist-dev."))
    func clientInC() throws {
        try Home.with { home in
            let flags = "$(pkg-config --cflags --libs libplist-2.0)"
            let built = try home.run("\(Self.compiler) \(Self.root)/Tests/CClient/follow.c -o ~/follow \(flags)")
            #expect(built.status == 0, "\(built.errors)")
            try home.agent.defaults("write", "org.example.editor", "fontSize", "-int", "12")
            try home.expectValues(from: home.start([home.path + "/follow", "org.example.editor"])) {
                "fontSize = <integer>\($0)</integer>"
            }
        }
    }

    @Test("The example of defaults(5) is a profile")
    func profile() throws {
        try Home.with { home in
            let page = try String(contentsOfFile: Self.root + "/Config/man/defaults.5", encoding: .utf8)
            let example = try #require(page.firstMatch(of: #/(?s)\.Bd -literal -offset indent\n(.*?)\.Ed/#)).output.1
            try RawFile.write(String(example), to: home.path + "/editor.plist")
            try home.agent.defaults("write", "org.example.editor", "fontSize", "-int", "12")
            let outcome = try home.run("defaults apply ~/editor.plist")
            #expect(outcome.errors == "")
            let changes = ["fontSize  12 → (none)\n", "theme  (none) → \"dark\"\n"]
            #expect(outcome.output == changes.map { "org.example.editor \($0)" }.joined())
        }
    }
}
