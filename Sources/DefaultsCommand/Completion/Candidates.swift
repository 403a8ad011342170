import ArgumentParser
import DefaultsCore
import DefaultsKit
import Linux

/// What a shell may complete a word to: the names of domains, and a domain's keys, as they are now.
///
/// A person waits for it: an agent that doesn't answer at once is done without, and the files are read.
enum Candidates {
    /// Completes a domain, or the path of a file.
    ///
    /// It is the same for a key: the shell takes -g for an option, so that it may not know whether the domain is named.
    static let domain = CompletionKind.custom { words, index, prefix in of(words, at: index, prefix) }
    /// Completes a key of the domain before it.
    static let key = domain
    /// Completes the name of an application.
    static let application = CompletionKind.custom { _, _, prefix in
        offered(Application.names(.current), for: prefix)
    }

    /// How long an agent may take for one answer.
    private static let patience = AgentPatience(20)

    private static func of(_ words: [String], at index: Int, _ prefix: String) -> [String] {
        let before = words.prefix(max(0, index)).dropFirst().map(ShellWord.value)
        guard let prepared = try? Arguments.prepared(before) else { return [] }
        let rest = Arguments.withoutPlace(prepared)
        let isBehindDashes = rest.contains("--")
        guard let verb = rest.first,
            let place = PlaceArguments(prepared[..<rest.startIndex])
        else { return [] }
        let operands = Arguments.operands(rest.dropFirst())
        // What follows the key is a value, or a new name; tail alone takes several keys.
        if operands.count > 1, !Arguments.isPlural(verb), verb != "tail", verb != "watch" { return [] }
        guard let domain = Arguments.isPlural(verb) ? nil : operands.first else {
            let isPath = Path.hasSeparator(prefix) || prefix.hasPrefix("~")
            if isPath { return FileCandidates.of(prefix) }
            return offered((try? domains(place)) ?? [], for: prefix, isBehindDashes: isBehindDashes)
        }
        return offered((try? keys(of: domain, place)) ?? [], for: prefix, isBehindDashes: isBehindDashes)
    }

    /// The names that a word may become.
    ///
    /// One that begins with a dash would be an option, such as `--exec` with a command, unless `--` is before it.
    private static func offered(
        _ names: some Sequence<String>, for prefix: String, isBehindDashes: Bool = false
    ) -> [String] {
        ShellWord.candidates(
            names.filter { isBehindDashes || $0.utf8.first != UInt8(ascii: "-") }, for: prefix)
    }

    private static func domains(_ place: PlaceArguments) throws -> Set<String> {
        let host = try place.chosenHost()
        let (directory, address) = try place.resolve()
        let domains: [Domain]
        if let agent = agent(directory, address), let known = try? agent.domains() {
            domains = known
        } else {
            // In no order, which all of them are put in anyway.
            domains = try directory.domains(in: host == .any ? "" : Domain.hostDirectory, of: .current)
        }
        return Set(domains.filter { $0.host == host }.map(\.name.description) + [DomainName.global.description])
    }

    private static func keys(of name: String, _ options: PlaceArguments) throws -> Set<String> {
        let place = try options.find(name)
        let (directory, address) = try options.resolve()
        if place.directory == nil, let agent = agent(directory, address),
            let snapshot = try? agent.snapshot(of: place.domain)
        {
            return Set(snapshot.values.keys)
        }
        let path = try options.directory(of: place).path(of: place.domain)
        guard case .contents(let contents) = DomainFile(path: path).read(known: nil, patience: .insist) else {
            return []
        }
        return Set(contents.values.keys)
    }

    private static func agent(_ directory: PreferencesDirectory, _ address: AgentAddress) -> AgentConnection? {
        guard Environment.current[BackendChoice.noAgentVariable] == nil else { return nil }
        return try? AgentConnection.open(address, for: directory, patience: patience)
    }
}
