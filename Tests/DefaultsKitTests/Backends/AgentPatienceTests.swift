import DefaultsCore
import Glibc
import TestSupport
import Testing

@testable import DefaultsKit

/// An agent that is silent is given up when it is stopped, and waited for when it has much to do.
@Suite("Patience with an agent")
struct AgentPatienceTests {
    @Test("One that runs is waited for beyond the patience with one that is stopped")
    func busy() throws {
        try withSlowAgent(silentFor: 300) { address, directory in
            let patience = AgentPatience(stopped: 20, busy: 60_000)
            let agent = try #require(try AgentConnection.open(address, for: directory, patience: patience))
            #expect(agent.welcome.directory == directory.path)
        }
    }

    @Test("One that runs is given up in the end, and is not called stopped")
    func stuck() throws {
        try withSlowAgent(silentFor: -1) { address, directory in
            let error = #expect(throws: DefaultsError.self) {
                try AgentConnection.open(address, for: directory, patience: AgentPatience(stopped: 20, busy: 200))
            }
            #expect(error?.isOfSilence == true)
            #expect(
                error?.description.contains("hasn't answered for 0.2 s; it has much to do, or is stuck: `kill -KILL")
                    == true)
        }
    }

    @Test("An edit that isn't answered is said to have been sent")
    func edit() throws {
        try withSlowAgent(silentFor: 0) { address, directory in
            let agent = try #require(try AgentConnection.open(address, for: directory, patience: AgentPatience(500)))
            let error = #expect(throws: DefaultsError.self) {
                try agent.edit(Domain(DomainName("a.b")), ["size": .some(12)], replacesAll: false)
            }
            let remedy = "The edit was sent and may have been made: read before you try again."
            #expect(error?.description.hasSuffix(remedy) == true)
        }
    }

    /// Runs a body beside what answers each greeting after so many milliseconds, -1 for never, and nothing else ever.
    private func withSlowAgent(
        silentFor milliseconds: Int32, _ body: (AgentAddress, PreferencesDirectory) throws -> Void
    ) throws {
        try withTemporaryDirectory { path in
            let directory = PreferencesDirectory(path: path)
            let address = try AgentAddress(option: "\(path)/socket", for: directory, environment: Environment([:]))
            let listener = FileDescriptor(
                owning: socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
            )
            let number = listener.number
            let bound = UnixAddress(path: address.socketPath)?.with { bind(number, $0, $1) }
            guard bound == 0, listen(number, 8) == 0 else { throw TestSystemError("listen \(address.socketPath)") }
            let welcome = NumberedMessage(
                number: 1,
                message: .welcome(
                    protocolVersion: Request.protocolVersion, pid: Int64(getpid()), directory: path, system: .none,
                    cursor: Cursor(epoch: Epoch(value: 1), revision: 0)))
            let frame = try Frame.encode(welcome.fields)
            try withBackgroundThread { mayGoOn in
                var clients: [Int32] = []
                defer { clients.forEach { close($0) } }
                while mayGoOn() {
                    var waiting = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
                    guard poll(&waiting, 1, 10) == 1 else { continue }
                    let client = accept(number, nil, nil)
                    clients.append(client)
                    if milliseconds < 0 { continue }
                    // It has much to do, and nobody could tell when it is done.
                    poll(nil, 0, milliseconds)
                    _ = write(client, frame, frame.count)
                }
            } while: {
                try body(address, directory)
            }
        }
    }
}
