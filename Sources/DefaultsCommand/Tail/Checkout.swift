import Glibc

/// The checkout of this package that the running command was built in.
///
/// `swift run defaults` builds the command and the modules that it links, but not the agent. To make `tail` work in a
/// fresh clone, the agent is built on demand. An installed command has no checkout.
struct Checkout {
    private let root: String
    private let scratchPath: String
    private let configuration: String

    /// Finds the checkout of an executable at `<root>/.build…/<triple>/<configuration>/<name>`.
    ///
    /// Fails if the executable isn't in a checkout.
    init?(ofExecutable path: String) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count > 4, parts[parts.count - 4].hasPrefix(".build") else { return nil }
        scratchPath = parts.dropLast(3).joined(separator: "/")
        configuration = String(parts[parts.count - 2])
        root = parts.dropLast(4).joined(separator: "/")
        guard access(root + "/Package.swift", R_OK) == 0 else { return nil }
    }

    /// Builds the agent beside the command; the compiler's output goes to standard error.
    ///
    /// A signal that ends this process ends the compiler too.
    ///
    /// - Parameter end: The deadline.
    /// - Returns: False if the deadline passed before the build finished.
    /// - Throws: If the build fails.
    func buildAgent(until end: ContinuousClock.Instant?) throws(Failure) -> Bool {
        Failure.note("Building the agent, because `swift run defaults` builds only the command.")
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
            throw Failure("The agent could not be built; see the compiler's messages above.", .unavailable)
        }
    }
}
