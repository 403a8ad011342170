import DefaultsCore
import Linux

/// The request to a private agent, started by `defaults tail`, to hand over to this agent.
enum HandOver {
    /// The outcome of a request.
    enum Answer {
        /// The agent shuts down and releases its claims.
        case granted
        case refused
        /// No agent is listening there, or the agent doesn't answer.
        case unanswered
    }

    /// The timeout for connecting and for each answer, in milliseconds.
    private static let timeout: Int64 = 2_000

    /// Asks an agent to hand over, after checking that it is the expected one.
    ///
    /// - Parameters:
    ///   - holder: The agent named by its claim, although another program may now be listening on its socket.
    ///   - directory: The directory that the agent must serve; `nil` if its claim is on the directory itself.
    /// - Returns: The agent's answer.
    static func request(to holder: AgentClaim.Holder, serving directory: PreferencesDirectory?) -> Answer {
        guard var socket = try? AgentSocket(connectingTo: holder.socketPath, timeout: timeout) else {
            return .unanswered
        }
        switch answer(to: .greeting, on: &socket) {
        case .welcome(let welcome)?:
            // Both process IDs are from the agent's own namespace.
            guard welcome.pid == Int64(holder.pid) else { return .unanswered }
            if let directory, !PreferencesDirectory(path: welcome.directory).isSame(as: directory) {
                return .refused
            }
        case .failure?: return .refused
        default: return .unanswered
        }
        return switch answer(to: .handOver, on: &socket) {
        case .handingOver?: .granted
        case .failure?: .refused
        default: .unanswered
        }
    }

    /// Sends a request and waits for its answer; returns `nil` if no valid answer arrives.
    private static func answer(to request: Request, on socket: inout AgentSocket) -> Message? {
        let end = MonotonicTime.now() + timeout
        do throws(DefaultsError) {
            try socket.send(request)
            while end > .now() {
                if let message = try socket.next() { return message.message }
                _ = try socket.wait(within: end.millisecondsLeft)
            }
        } catch {
            return nil
        }
        return nil
    }
}
