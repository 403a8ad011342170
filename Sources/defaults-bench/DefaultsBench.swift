import ArgumentParser

/// The command line of `defaults-bench`: what takes too long, or too quiet a machine, for the tests.
@main
struct DefaultsBench: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "defaults-bench",
        abstract: "Compares speeds with peers and limits, soaks agent and library, and audits what an agent keeps.",
        subcommands: [
            Compare.self, Soak.self, Audit.self, WriteForeign.self, WriteApp.self, FollowKey.self, SetKey.self,
        ],
        defaultSubcommand: Compare.self)
}
