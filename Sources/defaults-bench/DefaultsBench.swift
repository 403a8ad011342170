import ArgumentParser

/// The command line of `defaults-bench`: what takes too long, or too quiet a machine, for the tests.
@main
struct DefaultsBench: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "defaults-bench",
        abstract: "Soaks the agent and the library, and audits what an agent keeps.",
        subcommands: [Soak.self, Audit.self, WriteForeign.self, WriteApp.self])
}
