import DefaultsClient
import DefaultsCore
import Foundation
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// Days in the life of preferences that are kept in git, in fast motion: apps, commands and hands edit them, and git
/// rewrites them.
///
/// `DAYS=1000 swift test --filter VersionControlTests` lives through that many days, with a new seed or that of `SEED`.
@Suite("Preferences under version control")
struct VersionControlTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let days = environment["DAYS"].flatMap { Int($0) }

    @Test(
        "After each step of git, the working tree is what git expects, and the agent has its values",
        .enabled(if: Programs.isInstalled("git") && ForeignProcess.hasPython))
    func days() throws {
        let seed =
            Self.environment["SEED"].flatMap { UInt64($0) } ?? (Self.days == nil ? 7 : .random(in: 0..<1_000_000))
        try AgentProcess.withPlace { place in
            let life = try ManagedPreferences(place, seed: seed)
            defer { life.agent?.kill() }
            do {
                for _ in 0..<(Self.days ?? 7) where !life.hasFailed { try life.day() }
                if !life.hasFailed { try life.publish() }
            } catch {
                Issue.record("Seed \(seed): \(error); \(life.steps.suffix(20))")
            }
            print("Version control: \(life.steps.count) steps, seed \(seed).")
        }
    }
}

/// A directory of preferences that is a git repository, with a remote repository, and a clone on another machine.
private final class ManagedPreferences {
    private static let domains = ["org.example.editor", "org.example.shell"]
    /// The keys by who changes them; both sides of a merge change the shared ones.
    private static let (ours, byHand, remote, shared) = (
        ["a0", "a1", "b0"], ["h0", "h1"], ["r0", "r1"], ["s0", "s1"]
    )

    let place: AgentProcess.Place
    private(set) var agent: AgentProcess?
    /// The steps so far, with the values set.
    private(set) var steps: [String] = []
    private(set) var hasFailed = false
    private let seed: UInt64
    private var random: PseudoRandom
    private var number = 0
    /// Whether the agent may hold edits that aren't saved yet.
    private var hasUnsavedEdits = false
    /// The expected values of each domain.
    private var expected: [String: DomainValues] = [:]

    private var clone: String { place.root + "/clone" }

    init(_ place: AgentProcess.Place, seed: UInt64) throws {
        self.place = place
        self.seed = seed
        random = PseudoRandom(seed: seed)
        for domain in Self.domains { try RawFile.write(Self.text, to: place.path(domain)) }
        // The agent's lock files are no preferences.
        try RawFile.write(".defaultsd.*\n", to: place.preferences + "/.gitignore")
        try git("init -q -b main; git add -A; git commit -qm 'Add my settings'")
        try git("init -q --bare -b main ../remote.git; git remote add origin ../remote.git; git push -qu origin main")
        try git("clone -q ../remote.git ../clone")
        agent = try AgentProcess(place)
        try check("start")
    }

    /// A file in which changes to two keys never touch neighboring lines.
    private static var text: String {
        let keys = (ours + byHand + remote + shared).sorted()
        let lines = keys.map { "\t<key>\($0)</key>\n\t<string>v0</string>\n" }
        return """
            <?xml version="1.0" encoding="UTF-8"?>
            <!-- Mine, since 2019. -->
            <plist version="1.0">
            <dict>
            \(lines.joined())</dict>
            </plist>

            """
    }

    // MARK: Days

    /// Lives through a day, at whose end everything is committed.
    func day() throws {
        for _ in 0..<(6 + random.below(6)) where !hasFailed {
            switch random.below(12) {
            case 0...2: try editByApp()
            case 3...4: try editByHand()
            case 5: try commit()
            case 6...7: try pull()
            case 8: try stash()
            case 9: try visitBranch()
            case 10: try discard()
            default: try replaceAgent()
            }
        }
        if !hasFailed { try commit() }
    }

    private func nextValue() -> String {
        number += 1
        return "v\(number)"
    }

    /// An app or the command sets a key.
    private func editByApp() throws {
        let (domain, value) = (random.pick(Self.domains), nextValue())
        var key = random.pick(Self.ours + Self.shared)
        switch random.below(agent == nil ? 2 : 3) {
        case 0:
            let outcome = try Programs.run(
                Programs.defaults, ["write", domain, key, value], environment: environment)
            try require(outcome.status == 0, "\(outcome)")
        case 1:
            key = "b0"
            let outcome = try Programs.run(
                Programs.liveWriter, [domain, "b", "1", value], environment: environment)
            try require(outcome.status == 0, "\(outcome)")
            hasUnsavedEdits = true
        default:
            try agent?.connect().edit(
                Domain(DomainName(domain)), with: [key: .string(value)], replacesAll: false)
            hasUnsavedEdits = true
        }
        steps.append("app sets \(domain) \(key) to \(value)")
        expected[domain]?[key] = .string(value)
    }

    /// A person edits a file, with a tool that reads it before.
    private func editByHand() throws {
        let (domain, key, value) = (random.pick(Self.domains), random.pick(Self.byHand + Self.shared), nextValue())
        let isPython = random.oneIn(2)
        try shell(isPython ? Self.python(domain, key, value) : Self.sed(domain, key, value))
        steps.append("\(isPython ? "python" : "sed") sets \(domain) \(key) to \(value)")
        expected[domain]?[key] = .string(value)
    }

    /// The environment of our programs, which don't ask for an agent where none runs.
    private var environment: [String: String] {
        place.environment.merging(agent == nil ? ["DEFAULTSD_SOCKET": ""] : [:]) { $1 }
    }

    private static func sed(_ domain: String, _ key: String, _ value: String) -> String {
        "sed -i '/<key>\(key)</{n;s/>[^<]*</>\(value)</}' \(domain).plist"
    }

    private static func python(_ domain: String, _ key: String, _ value: String) -> String {
        """
        python3 -c "
        import re
        text = open('\(domain).plist').read()
        text = re.sub(r'(<key>\(key)</key>\\s*<string>)[^<]*', r'\\g<1>\(value)', text)
        open('\(domain).plist', 'w').write(text)"
        """
    }

    /// Commits all changes.
    private func commit() throws {
        try settle()
        for (domain, values) in expected {
            try require(try self.values(place.path(domain)) == values, "\(domain) doesn't have the edits before")
        }
        try git("add -A; git diff --cached --quiet || git commit -qm 'Change \(number)'")
        try check("commit")
    }

    /// Stashes all changes, and gets them back.
    private func stash() throws {
        try settle()
        let before = try Self.domains.map { try RawFile.read(place.path($0)) }
        guard try !git("status --porcelain").isEmpty else { return }
        try git("stash -q")
        try check("stash")
        try git("stash pop -q")
        try settle()
        steps.append("stash pop")
        for (domain, bytes) in zip(Self.domains, before) {
            try require(try RawFile.read(place.path(domain)) == bytes, "\(domain) isn't what was stashed")
            try checkValues(domain, bytes)
        }
    }

    /// Discards all changes.
    private func discard() throws {
        try settle()
        try git("checkout -q -- .")
        try check("checkout of the files")
    }

    /// Makes changes on a branch, goes back, and perhaps merges them.
    private func visitBranch() throws {
        try commit()
        let branch = "topic\(number)"
        try git("checkout -q -b \(branch)")
        try check("checkout of a new branch")
        for _ in 0...random.below(3) { try random.oneIn(2) ? editByApp() : editByHand() }
        try commit()
        try git("checkout -q main")
        try check("checkout of main")
        if random.oneIn(3) {
            try editByApp()
            try commit()
        }
        if random.oneIn(3) {
            try git("checkout -q \(branch)")
            try check("checkout of the branch")
            try git("checkout -q main")
            try check("checkout of main again")
        }
        if random.oneIn(2) {
            try git("merge -q -X theirs --no-edit \(branch)")
            try check("merge")
        }
        try git("branch -q -D \(branch)")
    }

    /// Gets the other machine's changes, and sends ours.
    private func pull() throws {
        try commit()
        let domain = random.pick(Self.domains)
        let key = random.pick(random.oneIn(2) ? Self.shared : Self.remote)
        try shell(
            "git pull -q --rebase; \(Self.sed(domain, key, nextValue())); git commit -qam 'Change'; git push -q",
            in: clone)
        steps.append("the clone sets \(domain) \(key) to v\(number)")
        let outcome = try runGit("pull -q --rebase")
        steps.append("pull: \(outcome.status)")
        if outcome.status != 0 { try resolveConflicts() }
        try check("pull")
        if random.oneIn(2) { try git("push -q") }
    }

    /// Ends a rebase that has stopped at a conflict.
    private func resolveConflicts() throws {
        if random.oneIn(4) {
            try git("rebase --abort")
            try check("rebase --abort")
            try git("pull -q --rebase -X theirs")
            return
        }
        for _ in 0..<20 where RawFile.exists(place.preferences + "/.git/rebase-merge") {
            let files = try git("diff --name-only --diff-filter=U").split(separator: "\n")
            // The agent may look at the file with the marks of the conflict, which doesn't parse.
            if random.oneIn(2) { try settle() }
            let way = random.pick(["git checkout -q --ours", "git checkout -q --theirs", Self.keepTheirs])
            for file in files { try shell("\(way) \(file)") }
            if random.oneIn(2) { try settle() }
            steps.append("\(way) \(files)")
            try git("add -A")
            if try runGit("-c core.editor=true rebase --continue").status != 0 {
                // If the resolution left nothing of the commit, git asks to skip it.
                if try git("diff --name-only --diff-filter=U").isEmpty { _ = try runGit("rebase --skip") }
            }
        }
    }

    private static let keepTheirs = "sed -i '/^<<<<<<</,/^=======/d; /^>>>>>>>/d'"

    /// Ends the agent in some way, and starts another.
    private func replaceAgent() throws {
        if random.oneIn(2) {
            // An edit by the command is durable without this.
            if hasUnsavedEdits { try settle() }
            agent?.kill()
            steps.append("kill")
        } else {
            try require(agent?.terminate() == 0, "the agent's end")
            steps.append("terminate")
        }
        hasUnsavedEdits = false
        agent = nil
        for _ in 0..<random.below(3) { try random.oneIn(2) ? editByApp() : editByHand() }
        for step in [commit, stash, discard, pull, visitBranch] where random.oneIn(3) { try step() }
        agent = try AgentProcess(place)
        steps.append("start")
    }

    /// Sends everything, so that the other machine gets it.
    func publish() throws {
        try pull()
        try git("push -q")
        try shell("git pull -q --rebase", in: clone)
        for domain in Self.domains {
            let theirs = try RawFile.read("\(clone)/\(domain).plist")
            try require(try RawFile.read(place.path(domain)) == theirs, "\(domain) on the other machine")
        }
    }

    // MARK: Checks

    /// Returns when the agent has seen and saved everything.
    private func settle() throws {
        try agent?.synchronize()
        hasUnsavedEdits = false
    }

    private func require(_ condition: @autoclosure () throws -> Bool, _ what: String) throws {
        guard try !condition() else { return }
        hasFailed = true
        throw AgentProcess.AgentFailure(description: what)
    }

    private func values(_ path: String) throws -> DomainValues {
        try Self.values(RawFile.read(path), path)
    }

    private static func values(_ bytes: [UInt8], _ what: String) throws -> DomainValues {
        guard case .dictionary(let values) = try PropertyListValue(parsing: bytes) else {
            throw AgentProcess.AgentFailure(description: "\(what) is no dictionary.")
        }
        return values
    }

    /// Checks that the working tree is the last commit, and that the agent has its values.
    private func check(_ step: String) throws {
        steps.append(step)
        try settle()
        for domain in Self.domains {
            let committed = Array(try git("show HEAD:\(domain).plist").utf8)
            let found = try RawFile.read(place.path(domain))
            try require(
                found == committed,
                "after \(step), \(domain) isn't as committed: \(String(decoding: found, as: UTF8.self))")
            try checkValues(domain, committed)
        }
        let status = try git("status --porcelain")
        try require(status.isEmpty, "after \(step), git's status is \(status)")
    }

    private func checkValues(_ domain: String, _ bytes: [UInt8]) throws {
        let values = try Self.values(bytes, domain)
        expected[domain] = values
        guard let agent else { return }
        let inEffect = try agent.connect().snapshot(of: Domain(DomainName(domain))).values
        try require(inEffect == values, "the agent has \(inEffect) for \(domain)")
    }

    // MARK: Programs

    private func runGit(_ arguments: String) throws -> Programs.Outcome { try run("git \(arguments)") }

    @discardableResult
    private func git(_ arguments: String) throws -> String { try shell("git \(arguments)") }

    @discardableResult
    private func shell(_ script: String, in directory: String? = nil) throws -> String {
        let outcome = try run(script, in: directory)
        try require(outcome.status == 0, "\(script): \(outcome)")
        return outcome.output
    }

    private func run(_ script: String, in directory: String? = nil) throws -> Programs.Outcome {
        try Programs.shell(
            script, in: directory ?? place.preferences,
            environment: place.environment.merging(Self.gitEnvironment) { $1 })
    }

    private static let gitEnvironment: [String: String] = {
        let settings = [
            ("core.fsync", "none"), ("gc.auto", "0"), ("user.name", "t"), ("user.email", "t@example.org"),
            ("advice.detachedHead", "false"),
        ]
        var environment = ["GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_COUNT": "\(settings.count)"]
        for (number, setting) in settings.enumerated() {
            environment["GIT_CONFIG_KEY_\(number)"] = setting.0
            environment["GIT_CONFIG_VALUE_\(number)"] = setting.1
        }
        return environment
    }()
}
