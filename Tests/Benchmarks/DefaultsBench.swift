import ArgumentParser

/// The command line of `defaults-bench`: measurements that take too long, or need too quiet a machine, for the tests.
@main
struct DefaultsBench: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "defaults-bench",
        abstract: "Compare speeds with peers and limits, soak-test the agent and the library, and audit an agent.",
        subcommands: [
            Compare.self, Soak.self, Audit.self, WriteForeign.self, WriteApp.self, RandomApp.self, FollowKey.self,
            SetKey.self,
        ],
        defaultSubcommand: Compare.self)
}
