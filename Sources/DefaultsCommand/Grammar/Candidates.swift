import ArgumentParser
import DefaultsClient
import DefaultsCore
import Glibc
import Linux
import Manifests

/// The candidates for completing a word in a shell: domains, and the keys of a domain.
///
/// The user is waiting, so an agent that doesn't answer immediately is skipped, and the files are read instead.
enum Candidates {
    /// Completes a domain, or the path of a file.
    ///
    /// Also completes keys: the shell's script treats -g as an option, so it can't tell whether the domain was given.
    static let domain = CompletionKind.custom { words, index, prefix in of(words, at: index, prefix) }
    /// Completes a key of the domain before it.
    static let key = domain
    /// Completes the name of an application.
    static let application = CompletionKind.custom { _, _, prefix in
        offered(Application.names(.current), for: prefix)
    }

    /// The timeouts for an answer from the agent.
    private static let timeouts = AgentTimeouts(20)

    private static func of(_ words: [String], at index: Int, _ prefix: String) -> [String] {
        let before = words.prefix(max(0, index)).dropFirst().map(ShellWord.value)
        guard let prepared = try? Arguments.prepared(before) else { return [] }
        let rest = Arguments.withoutLocation(prepared)
        let isBehindDashes = rest.contains("--")
        guard let verb = rest.first,
            let location = LocationArguments(prepared[..<rest.startIndex])
        else { return [] }
        let operands = Arguments.operands(rest.dropFirst())
        // After the key comes a value or a new name; only tail takes several keys.
        if operands.count == 2, verb == "write",
            let choices = choices(for: operands[1], of: operands[0], rest, location)
        {
            return offered(choices, for: prefix, isBehindDashes: true)
        }
        let severalKeys = ["tail", "watch", "reset"]
        if operands.count > 1, !Arguments.isPlural(verb), !severalKeys.contains(verb) { return [] }
        guard let domain = Arguments.isPlural(verb) ? nil : operands.first else {
            let isPath = Path.hasSeparator(prefix) || prefix.hasPrefix("~")
            if isPath { return FileCandidates.of(prefix) }
            return offered((try? domains(location)) ?? [], for: prefix, isBehindDashes: isBehindDashes)
        }
        let keys = ((try? keys(of: domain, location)) ?? []).union(describedKeys(of: domain, location))
        return offered(keys, for: prefix, isBehindDashes: isBehindDashes)
    }

    /// Returns the possible completions of a word.
    ///
    /// A name that begins with a dash is offered only after `--`. Elsewhere, it would be read as an option, such as
    /// `--exec` with a command.
    private static func offered(
        _ names: some Sequence<String>, for prefix: String, isBehindDashes: Bool = false
    ) -> [String] {
        ShellWord.candidates(
            names.filter { isBehindDashes || $0.utf8.first != UInt8(ascii: "-") }, for: prefix)
    }

    private static func domains(_ location: LocationArguments) throws -> Set<String> {
        let host = try location.chosenHost()
        let (directory, address) = try location.resolve()
        let domains: [Domain]
        if let agent = agent(directory, address), let known = try? agent.domains() {
            domains = known
        } else {
            // The domains are unsorted here: `ShellWord.candidates` sorts them.
            domains = try directory.domains(in: host == .any ? "" : Domain.hostDirectory, of: .current)
        }
        return Set(domains.filter { $0.host == host }.map(\.name.description) + [DomainName.global.description])
    }

    private static func keys(of name: String, _ options: LocationArguments) throws -> Set<String> {
        let location = try options.find(name)
        let (directory, address) = try options.resolve()
        if location.directory == nil, let agent = agent(directory, address),
            let snapshot = try? agent.snapshot(of: location.domain)
        {
            return Set(snapshot.values.keys)
        }
        let path = try options.directory(of: location).path(of: location.domain)
        guard case .contents(let contents) = DomainFile(path: path).read(known: nil, openWriters: .readAnyway) else {
            return []
        }
        return Set(contents.values.keys)
    }

    private static func manifest(of name: String, _ options: LocationArguments) -> Manifest? {
        guard let location = try? options.find(name), location.directory == nil else { return nil }
        let directories = ManifestDirectories(environment: .current)
        return ManifestSet(in: directories, for: location.domain.name, keepsTexts: false)
            .entry(for: location.domain.name)?.manifest
    }

    /// Returns the keys that the domain's manifest describes, even if they have never been set.
    private static func describedKeys(of name: String, _ options: LocationArguments) -> [String] {
        manifest(of: name, options)?.keys.filter { !$0.isHidden }.map(\.name) ?? []
    }

    /// Returns what may follow a key of `write`, by the domain's manifest; `nil` if it doesn't say.
    private static func choices(
        for key: String, of name: String, _ words: ArraySlice<String>, _ options: LocationArguments
    ) -> [String]? {
        guard let key = manifest(of: name, options)?.key(named: key) else { return nil }
        let option = words.last.flatMap { TypedValue.options.contains($0) ? $0 : nil }
        let values = key.choices.map(\.value.plainText)
        switch (key.kind, option) {
        case (.integer, nil) where key.isBitField: return ["-flag", "-flag-add", "-flag-remove", "-int"]
        case (.integer, "-flag"), (.integer, "-flag-add"), (.integer, "-flag-remove"):
            return key.choices.map { $0.title ?? $0.value.shortText }
        case (.boolean, nil): return ["-bool"]
        case (.boolean, "-bool"): return ["true", "false"]
        case (.string, nil): return ["-string"] + values
        case (.string, "-string"), (.integer, "-int"), (.real, "-float"): return values.isEmpty ? nil : values
        case (.integer, nil): return ["-int"]
        case (.real, nil): return ["-float"]
        case (.date, nil): return ["-date"]
        case (.data, nil): return ["-data"]
        case (.array, nil): return ["-array", "-array-add"]
        case (.dictionary, nil): return ["-dict", "-dict-add"]
        default: return nil
        }
    }

    private static func agent(_ directory: PreferencesDirectory, _ address: AgentAddress) -> AgentConnection? {
        guard Environment.current[BackendChoice.noAgentVariable] == nil else { return nil }
        return try? AgentConnection.open(address, for: directory, timeouts: timeouts)
    }
}

/// The candidates for completing the path of a file.
enum FileCandidates {
    /// Returns the paths that begin with a prefix, sorted.
    static func of(_ prefix: String) -> [String] {
        let typed = ShellWord.value(prefix)
        let end = typed.utf8.lastIndex(of: UInt8(ascii: "/")).map { typed.utf8.index(after: $0) } ?? typed.startIndex
        let directory = String(typed[..<end])
        let path = Environment.current.expandingTilde(directory)
        let names = (try? PreferencesDirectory(path: path).names(in: "")) ?? []
        let found = names.filter { $0.utf8.starts(with: typed[end...].utf8) }.map { name in
            // bash and fish add no space after a slash; zsh adds one after every word.
            CompletionShell.requesting != .zsh && isDirectory(path + name) ? name + "/" : name
        }
        return ShellWord.candidates(found.map { directory + $0 }, for: prefix, arePaths: true)
    }

    private static func isDirectory(_ path: String) -> Bool {
        (try? FileStatus(at: path))?.isDirectory == true
    }
}
