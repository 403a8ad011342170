import DefaultsCore
import Logging
import NIOCore
import ServiceLifecycle

/// Keeps what the agent is found by: its claims on the directory and the socket, and the socket's file.
///
/// The directory may be moved away and made again, or another mounted over it; files may be removed. `ClaimChecks` says when
/// that may be so. Where the directory can't be claimed, since no file can be made in it, that is tried again by time.
struct ClaimService: Service {
    let claims: AgentClaims
    let checks: ClaimChecks
    let server: Server
    let log: AgentLog
    let eventLoop: any EventLoop

    /// The time between two attempts to claim the directory, as long as it isn't.
    private static let interval = TimeAmount.seconds(5)
    /// The time in which a directory whose claim's file was removed may itself be.
    private static let settling = TimeAmount.milliseconds(500)
    /// The time for which clients may have locked the file, to see whether an agent has, and the pause until the next attempt.
    private static let mostOfALook = Duration.seconds(2)
    /// What a directory that isn't claimed is open to.
    static let consequence = "Until it can be, another agent could start on this directory."
    private static let pause = TimeAmount.milliseconds(20)

    /// Runs until the agent is to end, or another agent has a claim that this one has lost.
    func run() async throws {
        await withGracefulShutdownHandler {
            planNext()
            for await _ in checks.due {
                let problem = claims.problem
                // A file that is made in a directory which someone is removing would keep it from being removed.
                if !claims.areCurrent { await pause(Self.settling) }
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
        let end = ContinuousClock.now + Self.mostOfALook
        while true {
            do throws(DefaultsError) { return try claims.renew() } catch {
                guard .now < end else { throw error }
            }
            await pause(Self.pause)
        }
    }

    private func pause(_ time: TimeAmount) async {
        _ = try? await eventLoop.scheduleTask(in: time) {}.futureResult.get()
    }
}
