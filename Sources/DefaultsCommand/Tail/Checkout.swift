import Glibc

/// A checkout of this package in which the command was built and is run from.
///
/// `swift run defaults` builds the command and what it links, and that is not the agent. So that it works in a fresh clone
/// all the same, the agent is built when it is wanted. A command that was installed has no checkout, and no need of it.
struct Checkout {
    private let root: String
    private let scratchPath: String
    private let configuration: String

    /// Finds the checkout from the path of an executable, `<root>/.build…/<triple>/<configuration>/<name>`; `nil` when it
    /// isn't in one.
    init?(ofExecutable path: String) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count > 4, parts[parts.count - 4].hasPrefix(".build") else { return nil }
        scratchPath = parts.dropLast(3).joined(separator: "/")
        configuration = String(parts[parts.count - 2])
        root = parts.dropLast(4).joined(separator: "/")
        guard access(root + "/Package.swift", R_OK) == 0 else { return nil }
    }

    /// Builds the agent beside the command; what the compiler says goes to standard error.
    ///
    /// A signal that ends this process ends the compiler too.
    ///
    /// - Parameter end: when to give up.
    /// - Returns: false when the time was over before it was built.
    /// - Throws: when it can't be built.
    func buildAgent(until end: ContinuousClock.Instant?) throws(Failure) -> Bool {
        Failure.note("Building the agent, since `swift run defaults` builds the command alone.")
        let build = ProgramGroup(
            program: "swift",
            arguments: [
                "swift", "build", "--package-path", root, "--scratch-path", scratchPath,
                "--configuration", configuration, "--product", "defaultsd",
            ],
            outputToErrors: true)
        switch try build.run(until: end) {
        case .status(0): return true
        case .timeIsOver: return false
        case .status, .wantedTerminal:
            throw Failure("The agent could not be built; the compiler says above why.", .unavailable)
        }
    }
}
