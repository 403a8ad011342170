import DefaultsCore
import Glibc
import Linux
import TestSupport
import Testing

@testable import DefaultsClient
@testable import DefaultsKit

/// Calls that suspend a task, where the synchronous ones block a thread.
@Suite("Suspending calls", .timeLimit(.minutes(1)))
struct SuspensionTests {
    /// Runs a test with an app's defaults in a new directory.
    ///
    /// - Parameters:
    ///   - isSilent: whether a program listens at the agent's socket that never accepts a connection.
    ///   - body: gets the defaults, and a function that returns those of another process.
    /// - Throws: the error of `body`, or of the system.
    private func withDefaults(
        isSilent: Bool = false, _ body: (UserDefaults, () throws -> UserDefaults) async throws -> Void
    ) async throws {
        let path = try makeTemporaryDirectory()
        defer { removeTree(path) }
        let listener = FileDescriptor(owning: socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0))
        if isSilent {
            let number = listener.number
            let bound = UnixAddress(path: path + "/socket")?.with { bind(number, $0, $1) }
            guard bound == 0, listen(number, 8) == 0 else { throw TestSystemError("listen \(path)/socket") }
        }
        let location = try Location(
            environment: Environment([
                "DEFAULTS_DIRECTORY": path, "DEFAULTSD_SOCKET": path + "/socket",
                "DEFAULTS_SYSTEM_DIRECTORIES": path + "/none", "DEFAULTS_MANAGED_DIRECTORY": path + "/none",
            ]))
        var clients: [Client] = []
        defer { for client in clients { client.close() } }
        func open() throws -> UserDefaults {
            let client = Client(.success(location))
            clients.append(client)
            return try #require(UserDefaults(suiteName: "org.example.app", in: client))
        }
        try await body(open(), open)
        _ = consume listener
    }

    @Test("`save()` in a task returns when edits are in the file")
    func save() async throws {
        try await withDefaults { defaults, other in
            defaults.set(5, forKey: "k")
            try await defaults.save()
            let others = try other()
            #expect(others.integer(forKey: "k") == 5)
        }
    }

    @Test("`save()` in a task throws the reason why nothing can be saved")
    func failure() async throws {
        let client = Client(.failure(DefaultsError(.directory, "There is no directory for this test.")))
        defer { client.close() }
        let defaults = try #require(UserDefaults(suiteName: "app", in: client))
        let problem = await #expect(throws: DefaultsProblem.self) { try await defaults.save() }
        #expect(problem?.code == .saving)
        #expect(problem?.description.hasPrefix("There is no directory for this test.") == true)
        #expect(throws: DefaultsProblem.self) { try defaults.domains() }
    }

    @Test("A canceled save() ends while the agent is silent, and says so")
    func cancellation() async throws {
        try await withDefaults(isSilent: true) { defaults, _ in
            let task = Task { try await defaults.save() }
            task.cancel()
            let problem = await #expect(throws: DefaultsProblem.self) { try await task.value }
            #expect(problem?.code == .cancellation)
        }
    }

    @Test("A stream whose values haven't arrived ends when its task is canceled", arguments: [0, 1, 2])
    func streams(kind: Int) async throws {
        try await withDefaults(isSilent: true) { defaults, _ in
            let task = Task {
                switch kind {
                case 0:
                    var iterator = defaults.changes(in: .application).makeAsyncIterator()
                    return try await iterator.next() == nil
                case 1:
                    var iterator = defaults.changes(of: DefaultsKey("k", default: 0)).makeAsyncIterator()
                    return await iterator.next() == nil
                default:
                    var iterator = defaults.updates(of: DefaultsKey("k", default: 0)).makeAsyncIterator()
                    return await iterator.next() == nil
                }
            }
            task.cancel()
            let isOver = try await task.value
            #expect(isOver)
        }
    }
}
