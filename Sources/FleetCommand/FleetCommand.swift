#if Fleet
package import ArgumentParser
import DefaultsCommand
import DefaultsCore
import Fleet

/// `defaults fleet`: a person's preferences on all machines, and a service's on all servers.
package struct FleetCommand: ParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "defaults fleet",
        abstract: "Keep preferences the same on several machines, by any folder that syncs.",
        discussion: FleetHelp.discussion, version: Version.current,
        subcommands: [Join.self, Leave.self, Add.self, Remove.self, Review.self, Status.self, Approve.self, Run.self]
            + serviceVerbs)

    /// The names of the verbs for services.
    private static let serviceNames = ["init", "push", "rollout", "receive"]

    private static var serviceVerbs: [any ParsableCommand.Type] {
        RegisterEngines.current == nil ? [] : [Initialize.self, Push.self, RolloutVerb.self, Receive.self]
    }

    package init() {}

    /// Runs the program.
    ///
    /// - Parameter engine: The engine for services; `nil` if the program was built without one.
    package static func main(with engine: (any RegisterEngine)?) {
        RegisterEngines.current = engine
        do {
            if serviceVerbs.isEmpty, let name = CommandLine.arguments.dropFirst().first, serviceNames.contains(name) {
                throw Failure(
                    "`defaults fleet \(name)` needs a program that was built with etcd: `Config/install --etcd`.",
                    .unavailable)
            }
            var command = try parseAsRoot()
            try command.run()
        } catch let error as DefaultsError {
            Failure.end(error.description, ExitStatus(error))
        } catch let failure as Failure {
            Failure.end(failure.message, failure.status)
        } catch let failure as FleetFailure {
            Failure.end(failure.message, .inputOutput)
        } catch let failure as RegisterFailure {
            Failure.end(failure.failure.message, .unavailable)
        } catch {
            if exitCode(for: error) == .validationFailure {
                let message = message(for: error)
                let isSentence = message.hasSuffix(".") || message.hasSuffix("?")
                let verb = CommandLine.arguments.dropFirst().first { name in
                    configuration.subcommands.contains { $0.configuration.commandName == name }
                }
                let help = ["defaults fleet", verb, "--help"].compactMap(\.self).joined(separator: " ")
                Failure.end("\(message)\(isSentence ? "" : ".") See `\(help)`.", .usage)
            }
            exit(withError: error)
        }
    }
}
#endif
