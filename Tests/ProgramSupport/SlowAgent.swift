package import DefaultsCore
import Glibc
import Linux
import Synchronization
import TestSupport

/// Runs a body with a fake agent that answers only greetings, each after a delay.
///
/// With a delay of -1, it never answers. The body gets a function that returns the number of connections so far.
package func withSlowAgent(
    silentFor milliseconds: Int32, _ body: (AgentAddress, PreferencesDirectory, _ connections: () -> Int) throws -> Void
) throws {
    try withTemporaryDirectory { path in
        let directory = PreferencesDirectory(path: path)
        let address = try AgentAddress(option: "\(path)/socket", for: directory, environment: Environment([:]))
        let listener = try listeningSocket(at: address.socketPath)
        let number = listener.number
        let welcome = NumberedMessage(
            number: 1,
            message: .welcome(
                Welcome(
                    pid: Int64(getpid()), directory: path, system: .none,
                    cursor: Cursor(epoch: Epoch(value: 1), revision: 0))))
        let frame = try Frame.encode(welcome.fields)
        let connections = Connections()
        try withBackgroundThread { mayGoOn in
            var clients: [Int32] = []
            defer { clients.forEach { close($0) } }
            while mayGoOn() {
                var waiting = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
                guard poll(&waiting, 1, 10) == 1 else { continue }
                let client = accept(number, nil, nil)
                clients.append(client)
                connections.count.add(1, ordering: .relaxed)
                if milliseconds < 0 { continue }
                // To the client, this looks like a busy agent.
                poll(nil, 0, milliseconds)
                _ = write(client, frame, frame.count)
            }
        } while: {
            try body(address, directory) { connections.count.load(ordering: .relaxed) }
        }
    }
}

private final class Connections: Sendable {
    let count = Atomic(0)
}
