import DefaultsCore
import Linux
import Logging
import NIOCore
import ServiceLifecycle

/// A service that keeps the agent discoverable by maintaining its claims on the directory and the socket, and the
/// socket's file.
///
/// The directory may be moved away and recreated, another may be mounted over it, or files may be removed.
/// `ClaimChecks` reports when this may have happened. If a directory can't be claimed, because no file can be created
/// in it, the claim is retried at intervals.
struct ClaimService: Service {
    let claims: AgentClaims
    let checks: ClaimChecks
    let server: Server
    let log: AgentLog
    let eventLoop: any EventLoop

    /// The interval between attempts to claim a directory that isn't claimed.
    private static let interval = TimeAmount.seconds(5)
    /// The delay after a claim file's removal, in case the directory itself is being removed.
    private static let settling = TimeAmount.milliseconds(500)
    /// The maximum time for which clients may hold the lock while they check for an agent.
    private static let checkTimeout = Duration.seconds(2)
    /// The consequence of an unclaimed directory, for log messages.
    static let consequence = "Until it is locked, another agent could start on this directory."
    private static let pause = TimeAmount.milliseconds(20)

    /// Runs until the agent shuts down, or until another agent takes over a claim that this one has lost.
    func run() async throws {
        await withGracefulShutdownHandler {
            planNext()
            for await _ in checks.due {
                let problem = claims.problem
                // A file created in a directory that is being removed would prevent the removal.
                if !claims.areCurrent { await eventLoop.sleep(until: .now() + Self.settling) }
                do throws(DefaultsError) {
                    for line in try await renew() { log.logger.notice("\(line)") }
                } catch {
                    log.logger.error("\(error) Shutting down.")
                    return
                }
                if let new = claims.problem, new != problem { log.logger.warning("\(new) \(Self.consequence)") }
                await server.listenAgain()
                planNext()
            }
        } onGracefulShutdown: {
            checks.finish()
        }
    }

    private func planNext() {
        guard claims.problem != nil else { return }
        eventLoop.scheduleTask(in: Self.interval) { checks.request() }
    }

    private func renew() async throws(DefaultsError) -> [String] {
        let end = ContinuousClock.now + Self.checkTimeout
        while true {
            do throws(DefaultsError) { return try claims.renew() } catch {
                guard .now < end else { throw error }
            }
            await eventLoop.sleep(until: .now() + Self.pause)
        }
    }
}

/// The requests to check the agent's claims and socket, from any part that notices a possible loss.
final class ClaimChecks: EngineClaimChecks {
    /// A stream with one element for each due check; one check may serve several requests.
    let due: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation
    private let claims: AgentClaims
    /// The server; set before the socket is created.
    private let server = ForkSafeMutex<Server?>(nil)

    init(_ claims: AgentClaims) {
        self.claims = claims
        (due, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Sets the server whose socket is also checked.
    func follow(_ server: Server) { self.server.withLock { $0 = server } }

    /// Requests a check.
    func request() { continuation.yield() }

    /// Requests a check if a claim or the socket is gone.
    ///
    /// It costs a few system calls, and may be called on any thread.
    func requestIfNeeded() {
        if !claims.areCurrent || server.withLock({ $0 })?.isFound == false { request() }
    }

    /// Ends the stream of requests.
    func finish() { continuation.finish() }
}
