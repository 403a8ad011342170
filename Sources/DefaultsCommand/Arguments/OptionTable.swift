// swift-format-ignore-file
// Generated from `defaults --experimental-dump-help`; see GeneratedFilesTests.

/// The command's verbs and their options, for everything that reads arguments without the parser.
enum OptionTable {
    /// The options of all verbs.
    static let common: [Option] = [
        Option(name: "--directory", hasValue: true),
        Option(name: "--socket", hasValue: true),
        Option(name: "-currentHost", hasValue: false),
        Option(name: "-host", hasValue: true),
        Option(name: "-app", hasValue: true),
        Option(name: "--version", hasValue: false),
        Option(name: "-h", hasValue: false),
        Option(name: "--help", hasValue: false),
    ]

    /// The verbs, including "help".
    static let verbs: [Verb] = [
        Verb(names: ["printhostidentifier"], domains: .none, isPassthrough: false, options: []),
        Verb(names: ["read"], domains: .one, isPassthrough: false, options: [
            Option(name: "--json", hasValue: false),
            Option(name: "--plist", hasValue: true),
            Option(name: "--raw", hasValue: false),
            Option(name: "--key-path", hasValue: false),
            Option(name: "--literal-key", hasValue: false),
            Option(name: "--effective", hasValue: false),
            Option(name: "--at", hasValue: true),
        ]),
        Verb(names: ["read-type"], domains: .one, isPassthrough: false, options: [
            Option(name: "--key-path", hasValue: false),
            Option(name: "--literal-key", hasValue: false),
        ]),
        Verb(names: ["write"], domains: .one, isPassthrough: true, options: [
            Option(name: "--key-path", hasValue: false),
            Option(name: "--literal-key", hasValue: false),
            Option(name: "--force", hasValue: false),
            Option(name: "--json", hasValue: false),
        ]),
        Verb(names: ["rename"], domains: .one, isPassthrough: false, options: []),
        Verb(names: ["delete", "remove"], domains: .one, isPassthrough: false, options: [
            Option(name: "--key-path", hasValue: false),
            Option(name: "--literal-key", hasValue: false),
        ]),
        Verb(names: ["delete-all"], domains: .one, isPassthrough: false, options: []),
        Verb(names: ["domains"], domains: .none, isPassthrough: false, options: [
            Option(name: "--json", hasValue: false),
        ]),
        Verb(names: ["find"], domains: .none, isPassthrough: false, options: []),
        Verb(names: ["explain"], domains: .one, isPassthrough: false, options: [
            Option(name: "--json", hasValue: false),
            Option(name: "--color", hasValue: true),
        ]),
        Verb(names: ["edit"], domains: .one, isPassthrough: false, options: [
            Option(name: "--xml", hasValue: false),
        ]),
        Verb(names: ["import"], domains: .one, isPassthrough: false, options: [
            Option(name: "--force", hasValue: false),
        ]),
        Verb(names: ["export"], domains: .one, isPassthrough: false, options: []),
        Verb(names: ["convert"], domains: .none, isPassthrough: false, options: [
            Option(name: "--to", hasValue: true),
        ]),
        Verb(names: ["diff"], domains: .several, isPassthrough: false, options: [
            Option(name: "--json", hasValue: false),
            Option(name: "--color", hasValue: true),
            Option(name: "--since", hasValue: true),
            Option(name: "--until", hasValue: true),
        ]),
        Verb(names: ["log"], domains: .one, isPassthrough: false, options: [
            Option(name: "--by", hasValue: true),
            Option(name: "--since", hasValue: true),
            Option(name: "--until", hasValue: true),
            Option(name: "-n", hasValue: true),
            Option(name: "--json", hasValue: false),
            Option(name: "--color", hasValue: true),
        ]),
        Verb(names: ["undo"], domains: .one, isPassthrough: false, options: [
            Option(name: "--last", hasValue: true),
            Option(name: "--since", hasValue: true),
            Option(name: "--until", hasValue: true),
            Option(name: "--by", hasValue: true),
            Option(name: "--dry-run", hasValue: false),
            Option(name: "--color", hasValue: true),
        ]),
        Verb(names: ["redo"], domains: .one, isPassthrough: false, options: [
            Option(name: "--last", hasValue: true),
            Option(name: "--since", hasValue: true),
            Option(name: "--until", hasValue: true),
            Option(name: "--by", hasValue: true),
            Option(name: "--dry-run", hasValue: false),
            Option(name: "--color", hasValue: true),
        ]),
        Verb(names: ["record"], domains: .several, isPassthrough: false, options: [
            Option(name: "--by", hasValue: true),
            Option(name: "--since", hasValue: true),
            Option(name: "--until", hasValue: true),
            Option(name: "--all", hasValue: false),
            Option(name: "--commands", hasValue: false),
        ]),
        Verb(names: ["apply"], domains: .none, isPassthrough: false, options: [
            Option(name: "--dry-run", hasValue: false),
            Option(name: "--prune", hasValue: false),
            Option(name: "--name", hasValue: true),
            Option(name: "--undo", hasValue: true),
            Option(name: "--color", hasValue: true),
        ]),
        Verb(names: ["tail", "watch"], domains: .one, isPassthrough: false, options: [
            Option(name: "--json", hasValue: false),
            Option(name: "--since", hasValue: true),
            Option(name: "--cursor-file", hasValue: true),
            Option(name: "--initial", hasValue: false),
            Option(name: "-n", hasValue: true),
            Option(name: "--timeout", hasValue: true),
            Option(name: "--mode", hasValue: true),
            Option(name: "--exec", hasValue: true),
            Option(name: "--color", hasValue: true),
        ]),
        Verb(names: ["status"], domains: .none, isPassthrough: false, options: [
            Option(name: "--json", hasValue: false),
        ]),
        Verb(names: ["doctor"], domains: .none, isPassthrough: false, options: [
            Option(name: "--json", hasValue: false),
            Option(name: "--color", hasValue: true),
        ]),
        Verb(names: ["sync"], domains: .several, isPassthrough: false, options: []),
        Verb(names: ["help"], domains: .none, isPassthrough: false, options: []),
    ]
}
