import DefaultsCore
import Logging
import NIOCore
import ServiceLifecycle

/// Claims the directory as soon as a file can be made in it, where none could when the agent began.
///
/// The claim is held until this service ends.
struct ClaimService: Service {
    let directory: PreferencesDirectory
    let address: AgentAddress
    let log: AgentLog
    let eventLoop: any EventLoop

    private static let interval = TimeAmount.seconds(5)

    func run() async throws {
        let (ticks, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let timer = eventLoop.scheduleRepeatedTask(initialDelay: Self.interval, delay: Self.interval) { _ in
            continuation.yield()
        }
        var claim: AgentClaim?
        await withGracefulShutdownHandler {
            for await _ in ticks {
                switch try? AgentClaim.attempt(onDirectory: directory, for: address) {
                case .claimed(let new)?:
                    claim = new
                    // No tick follows; the end still does.
                    timer.cancel()
                    log.logger.notice("The directory is now locked for this agent.")
                case .held(let holder)?:
                    let name = holder.map { " (\($0.description), at \($0.socketPath))" } ?? ""
                    log.logger.error("Another agent\(name) now serves \(directory.path). Shutting down.")
                    return
                case .impossible?, nil: break
                }
            }
        } onGracefulShutdown: {
            continuation.finish()
        }
        timer.cancel()
        withExtendedLifetime(claim) {}
    }
}
