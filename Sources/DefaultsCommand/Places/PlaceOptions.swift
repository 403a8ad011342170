import ArgumentParser

/// Which directory, which agent, which host.
struct PlaceOptions: ParsableArguments, PlaceChoice {
    @Option(
        help: "The preferences directory, instead of DEFAULTS_DIRECTORY and the usual one.", completion: .directory)
    var directory: String?

    @Option(help: "The agent's socket, instead of DEFAULTSD_SOCKET and the usual one.", completion: .file())
    var socket: String?

    @Flag(
        name: .customLong("currentHost", withSingleDash: true), help: "Only what is for this host.")
    var currentHost = false

    @Option(name: .customLong("host", withSingleDash: true), help: "Only what is for the host with this identifier.")
    var host: String?

    // `Arguments` has put the domain in its place by the time the parser runs.
    @Option(
        name: .customLong("app", withSingleDash: true),
        help: "The domain of an application, by its name, its desktop file or its executable's name.",
        completion: Candidates.application)
    var app: String?
}
