#if Viewer
import ArgumentParser
import DefaultsCore
import Glibc
import Linux
import NIOCore
import NIOPosix

/// `defaults-viewer`: a page in the browser that shows preferences live.
@main
struct DefaultsViewer: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "defaults-viewer",
        abstract: "Show preferences live, on a page in the browser.",
        discussion: "`defaults view` runs this program. See the page \"See preferences live\".",
        version: Version.current)

    @Option(help: "The command `defaults` to use.") var command = "defaults"
    @Flag(help: "Let the page change nothing.") var readOnly = false
    @Flag(help: "Print the page's address, which works once, instead of opening a browser.") var printURL = false
    @Option(help: "Open the page with this domain.") var domain: String?
    @Option(help: "The host of that domain.") var host: String?
    @Option(help: "End after this number of seconds without an open page.") var endAfter = 300

    func run() throws {
        // A browser that closes a connection must not end this process.
        signal(SIGPIPE, SIG_IGN)
        let end = EndSignals()
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let viewer = Viewer(
            Bridge(command), showing: domain, host, isReadOnly: readOnly, endingAfter: .seconds(Int64(endAfter)),
            on: group.next())
        let address: String
        do { address = try viewer.entrance(of: viewer.listen()) } catch let failure as SystemCall.Failure {
            Self.log(
                "The kernel doesn't say which user opens a connection, so other users can't be kept out: "
                    + "\(SystemCall.message(failure.number)). If it lacks tcp_diag, run `modprobe tcp_diag` as root.")
            throw ExitCode(69)
        } catch {
            Self.log("No port on the loopback interface can be opened: \(error)")
            throw ExitCode(69)
        }
        guard printURL else {
            let page = try EntrancePage(leadingTo: address)
            page.open()
            viewer.whenEntered { page.remove() }
            // A browser that was started may still show nothing.
            viewer.ifNotEntered(within: .seconds(10)) { page.advise("No browser has opened the page yet.") }
            end.wait()
            page.remove()
            return
        }
        print(address)
        fflush(nil)
        end.wait()
    }

    /// Writes a line to standard error.
    static func log(_ line: String) {
        let bytes = Array("defaults-viewer: \(line)\n".utf8)
        _ = write(STDERR_FILENO, bytes, bytes.count)
    }
}
#else
import Linux

/// `defaults-viewer` without the trait `Viewer`.
@main
struct DefaultsViewer {
    static func main() { MissingTrait.end("defaults-viewer", without: "Viewer") }
}
#endif
