import DefaultsCore
import DefaultsKit
import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// The command's output for values and answers that are hostile or out of range.
@Suite("Hostile values and answers")
struct HostileOutputTests {
    @Test(
        "An uptime that fits no integer is shown as unknown",
        .enabled(if: ForeignProcess.hasPython), arguments: [1e300, -1e300, 0x1p63, .infinity, .nan])
    func uptime(_ seconds: Double) throws {
        try AgentProcess.withPlace { place in
            let welcome = Message.welcome(
                Welcome(
                    pid: Int64(getpid()), directory: place.preferences, system: .none,
                    cursor: Cursor(epoch: Epoch(value: 1), revision: 0)))
            let messages = [welcome, .status(["uptime": .real(seconds), "pid": .real(seconds)])]
            let frames = try messages.enumerated().map { index, message in
                try Frame.encode(NumberedMessage(number: UInt64(index + 1), message: message).fields)
            }
            let agent = try ForeignProcess(
                python: """
                    import socket, sys
                    listener = socket.socket(socket.AF_UNIX)
                    listener.bind(sys.argv[1])
                    listener.listen(8)
                    print('listening', flush=True)
                    connection = listener.accept()[0]
                    for frame in sys.argv[2:]:
                        connection.recv(1 << 16)
                        connection.sendall(bytes.fromhex(frame))
                    connection.recv(1)
                    """,
                [place.socket] + frames.map { $0.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() })
            #expect(agent.line() == "listening")
            let outcome = try Programs.run(Programs.defaults, ["status"], environment: place.environment)
            #expect(outcome.status == 0 && outcome.errors == "", "\(outcome)")
            #expect(outcome.output.contains(", up ?\n"))
            try agent.remainder()
        }
    }

    /// Text with control characters that a terminal would obey, and with one that reverses its order.
    private static let text = "a\u{1B}]0;x\u{7}\u{202E}b\u{2028}c\u{9B}\té\nd"

    @Test(
        "`read` and `find` escape control characters on a terminal and print them unchanged elsewhere",
        .enabled(if: ForeignProcess.hasPython))
    func terminal() throws {
        try AgentProcess.withPlace { place in
            let values: DomainValues = ["k": .string(Self.text)]
            try RawFile.write(PropertyListValue.dictionary(values).write(as: .binary), to: place.path("a.b"))
            let environment = place.environment.merging(["DEFAULTSD_SOCKET": ""]) { $1 }
            let commands = [
                (["read", "a.b", "k"], "a\\U001b]0;x\\U0007\\U202eb\\U2028c\\U009b\té\nd\n"),
                (["read", "a.b"], nil), (["read"], nil), (["find", "a.b"], nil),
            ]
            for (arguments, expected) in commands {
                let outcome = try Programs.run(
                    "/usr/bin/env",
                    ["python3", "-c", "import pty, sys; pty.spawn(sys.argv[1:])", Programs.defaults] + arguments,
                    environment: environment)
                let shown = outcome.output.replacing("\r\n", with: "\n")
                // Line breaks and tabs are kept.
                let rest = shown.filter { $0 != "\n" && $0 != "\t" }
                #expect(rest == rest.printable && shown.contains("\\U202e"), "\(arguments): \(shown)")
                if let expected { #expect(shown == expected) }
                let piped = try Programs.run(Programs.defaults, arguments, environment: environment).output
                #expect(piped.contains("\u{202E}"), "\(arguments)")
            }
            let piped = try Programs.run(Programs.defaults, ["read", "a.b", "k"], environment: environment).output
            #expect(piped == Self.text + "\n")
        }
    }
}
