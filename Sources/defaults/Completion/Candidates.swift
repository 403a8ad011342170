import ArgumentParser
import DefaultsCore
import DefaultsKit

/// What a shell may complete a word to: the names of domains, and a domain's keys, as they are now.
///
/// A person waits for it: an agent that doesn't answer at once is done without, and the files are read.
enum Candidates {
    /// Completes a domain.
    static let domain = CompletionKind.custom { words, index, _ in of(words, at: index) }
    /// Completes a key of the domain before it.
    static let key = domain
    /// Completes a domain, or the name of a file if it begins like a path.
    static let domainOrFile = CompletionKind.custom { words, index, prefix in
        prefix.contains("/") || prefix.hasPrefix("~") ? FileCandidates.of(prefix) : of(words, at: index)
    }

    /// How long an agent may take for one answer, in milliseconds.
    private static let patience: Int64 = 20

    private static func of(_ words: [String], at index: Int) -> [String] {
        let before = words.prefix(max(0, index)).dropFirst().map(ShellWord.value)
        // What comes before it says whether this is the domain: the shell takes -g for an option, not for a name.
        let prepared = Arguments.prepared(before)
        let rest = Arguments.withoutPlace(prepared)
        guard let verb = rest.first,
            let place = try? PlaceOptions.parse(Array(prepared.prefix(prepared.count - rest.count)))
        else { return [] }
        let operands = Arguments.operands(rest.dropFirst())
        // What follows the key is a value, or a new name; tail alone takes several keys.
        if operands.count > 1, !Arguments.isPlural(verb), verb != "tail", verb != "watch" { return [] }
        let domain = Arguments.isPlural(verb) ? nil : operands.first
        let names = (try? domain.map { try keys(of: $0, place) } ?? domains(place)) ?? []
        return names.filter { !$0.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F } }.sorted()
            .map(ShellWord.candidate)
    }

    private static func domains(_ place: PlaceOptions) throws -> Set<String> {
        let host = try place.domain(DomainName.global.description).host
        let (directory, address) = try place.resolve()
        let domains: [Domain]
        if let agent = agent(directory, address), let known = try? agent.domains() {
            domains = known
        } else {
            domains = try directory.domains()
        }
        return Set(domains.filter { $0.host == host }.map(\.name.description) + [DomainName.global.description])
    }

    private static func keys(of name: String, _ place: PlaceOptions) throws -> Set<String> {
        let domain = try place.domain(name)
        let (directory, address) = try place.resolve()
        if let agent = agent(directory, address), let snapshot = try? agent.snapshot(of: domain) {
            return Set(snapshot.values.keys)
        }
        let reading = DomainFile(path: directory.path(of: domain)).read(known: nil, patience: .insist)
        guard case .contents(let contents) = reading else { return [] }
        return Set(contents.values.keys)
    }

    private static func agent(_ directory: PreferencesDirectory, _ address: AgentAddress) -> AgentConnection? {
        guard Environment.current[BackendChoice.noAgentVariable] == nil else { return nil }
        return try? AgentConnection.open(address, for: directory, patience: patience)
    }
}
