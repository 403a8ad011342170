import DefaultsCore
import Synchronization

/// The requests to look at what the agent is found by, from all who notice that it may have gone.
final class ClaimChecks: Sendable {
    /// An element for each look that is due; one may stand for several requests.
    let due: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation
    private let claims: AgentClaims
    /// Set before the socket is made.
    private let server = Mutex<Server?>(nil)

    init(_ claims: AgentClaims) {
        self.claims = claims
        (due, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Names the server whose socket is looked at, too.
    func follow(_ server: Server) { self.server.withLock { $0 = server } }

    /// Asks for a look.
    func request() { continuation.yield() }

    /// Asks for a look if something has gone; takes a few system calls, on any thread.
    func requestIfNeeded() {
        if !claims.areCurrent || server.withLock({ $0 })?.isFound == false { request() }
    }

    /// Ends the requests.
    func finish() { continuation.finish() }
}
