import ArgumentParser
import DefaultsCore
import Glibc

/// `defaults view`.
struct View: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "view",
        abstract: "See preferences live in a browser.",
        discussion: """
            Opens a page that shows all domains and keys, where each value comes from, who changed it and when, and \
            every change as it happens. Values are edited and changes undone there.

            The page is served to one browser of yours, by this program, until you press Ctrl-C or have closed the \
            page for five minutes. Nothing leaves this machine. With --print-url, no browser is started; the address \
            that is printed works once.

            EXAMPLES
              defaults view
              defaults view org.example.editor
              defaults view --read-only --print-url
            """)

    @OptionGroup var location: LocationOptions
    @Flag(help: "Let the page change nothing.") var readOnly = false
    @Flag(name: .customLong("print-url"), help: "Print the page's address, instead of starting a browser.")
    var printsAddress = false
    @Flag(help: "Run also as root, to show root's preferences.") var allowRoot = false
    @Argument(help: "The domain to show first.", completion: Candidates.domain) var domain: String?

    func run() throws {
        // A browser is the last program that root should run.
        if getuid() == 0, !allowRoot {
            throw Failure(
                "`defaults view` refuses to run as root, since it would show root's preferences, not yours. "
                    + "Run it as yourself, or add --allow-root.",
                .usage)
        }
        var arguments = ["--command", AppIdentity.current.executable]
        if readOnly { arguments.append("--read-only") }
        if printsAddress { arguments.append("--print-url") }
        if let domain {
            let found = try location.find(domain).domain
            arguments.append("--domain=\(found.name)")
            if let host = found.host.identifier { arguments.append("--host=\(host)") }
        }
        try SiblingProgram.become(
            "defaults-viewer", with: arguments, directory: location.directory, socket: location.socket)
    }
}
