import DefaultsCore
import Glibc
import Linux

/// The claims that an agent holds while it is running: one on its directory and one on its socket.
final class AgentClaims: Sendable {
    private let directory: PreferencesDirectory
    private let address: AgentAddress
    /// The claims currently held.
    ///
    /// The lock is held while claim files are opened and locked. Nothing that could block for long is called under it.
    private let held: ForkSafeMutex<Held>

    private struct Held {
        /// The claim on the directory; `nil` if the claim's file can't be created.
        var directory: AgentClaim?
        var socket: AgentClaim?
        /// The reason why the directory isn't claimed.
        var problem: DefaultsError?
    }

    /// The timeout for an agent to hand over, which includes saving pending edits and exiting.
    private static let handoverTimeout = Duration.seconds(15)
    /// The timeout for an agent that doesn't answer to finish starting or exiting.
    private static let silenceTimeout = Duration.seconds(2)
    /// The maximum time for which a client may hold the lock while it checks for an agent.
    private static let probeTimeout = Duration.milliseconds(100)

    /// Claims the directory and the socket.
    ///
    /// - Parameters:
    ///   - directory: The preferences directory, which must exist.
    ///   - address: The address at which the agent will listen, in a directory that exists.
    ///   - asksOthers: Whether to ask a private agent that holds a claim to hand it over.
    /// - Throws: `agentRefused` if another agent holds a claim and keeps it.
    init(on directory: PreferencesDirectory, at address: AgentAddress, asksOthers: Bool) throws(DefaultsError) {
        var end = ContinuousClock.now + (asksOthers ? Self.silenceTimeout : Self.probeTimeout)
        var askedHolder: AgentClaim.Holder?
        while true {
            let refusal: Refusal
            switch try Self.attempt(on: directory, for: address) {
            case .all(let claims):
                (self.directory, self.address) = (directory, address)
                held = ForkSafeMutex(claims)
                return
            case .held(let found): refusal = found
            }
            guard .now < end else { throw refusal.error }
            if asksOthers, let holder = refusal.holder, holder != askedHolder {
                switch HandOver.request(to: holder, serving: refusal.isOfDirectory ? nil : directory) {
                case .granted:
                    askedHolder = holder
                    end = .now + Self.handoverTimeout
                case .refused: throw refusal.error
                case .unanswered: break
                }
            }
            Backoff.pause(.milliseconds(20))
        }
    }

    private enum Outcome {
        case all(Held)
        case held(Refusal)
    }

    /// A claim that another agent holds.
    private struct Refusal {
        var holder: AgentClaim.Holder?
        var isOfDirectory: Bool
        var error: DefaultsError

        init(of what: String, by holder: AgentClaim.Holder?, isOfDirectory: Bool) {
            self.holder = holder
            self.isOfDirectory = isOfDirectory
            guard let holder else {
                error = DefaultsError(
                    .agentRefused, "Another agent already serves \(what). For its status, run `defaults status`.")
                return
            }
            error = DefaultsError(
                .agentRefused,
                "Another agent (\(holder.description)) already serves \(what)"
                    + (isOfDirectory ? " at \(holder.socketPath). " : ". ")
                    + "For its status, run `defaults status --socket \(holder.socketPath)`. \(holder.stopping)")
        }
    }

    private static func attempt(
        on directory: PreferencesDirectory, for address: AgentAddress
    ) throws(DefaultsError) -> Outcome {
        var claims = Held()
        switch try AgentClaim.attempt(onDirectory: directory, for: address) {
        case .claimed(let claim): claims.directory = claim
        case .held(let holder): return .held(refusal(of: directory, by: holder))
        case .impossible(let error): claims.problem = error
        }
        switch try AgentClaim.attempt(onSocketOf: address) {
        case .claimed(let claim): claims.socket = claim
        case .held(let holder): return .held(refusal(of: address, by: holder))
        case .impossible(let error): throw error
        }
        return .all(claims)
    }

    private static func refusal(of directory: PreferencesDirectory, by holder: AgentClaim.Holder?) -> Refusal {
        Refusal(of: "the directory \(directory.path)", by: holder, isOfDirectory: true)
    }

    private static func refusal(of address: AgentAddress, by holder: AgentClaim.Holder?) -> Refusal {
        Refusal(of: "the socket \(address.socketPath)", by: holder, isOfDirectory: false)
    }

    /// Releases the claims and removes their files.
    func release() { held.withLock { $0 = Held() } }

    // MARK: While the agent runs

    /// The reason why the directory isn't claimed, if the claim's file can't be created.
    var problem: DefaultsError? { held.withLock { $0.problem } }

    /// Whether the claim files are still where other agents look for them.
    var areCurrent: Bool {
        held.withLock { $0.directory?.isCurrent != false && $0.socket?.isCurrent == true }
    }

    /// Renews the claims on the directory and the socket if the claim files aren't where other agents look for them.
    ///
    /// The path may now lead to another directory, a claim file may have been removed, or creating one may have failed
    /// before.
    ///
    /// - Returns: A log message for each new claim.
    /// - Throws: `agentRefused` if another agent now holds a claim.
    func renew() throws(DefaultsError) -> [String] {
        try held.withLock { held throws(DefaultsError) in
            var news: [String] = []
            if try Self.renew(
                &held.directory, problem: &held.problem,
                attempt: { () throws(DefaultsError) in try AgentClaim.attempt(onDirectory: directory, for: address) },
                refusal: { Self.refusal(of: directory, by: $0).error })
            {
                news.append("The directory \(directory.path) is now locked for this agent.")
            }
            var problem: DefaultsError?
            if try Self.renew(
                &held.socket, problem: &problem,
                attempt: { () throws(DefaultsError) in
                    try address.makeDirectory()
                    return try AgentClaim.attempt(onSocketOf: address)
                }, refusal: { Self.refusal(of: address, by: $0).error })
            {
                news.append("The socket \(address.socketPath) is locked for this agent again.")
            }
            return news
        }
    }

    /// Renews a claim that is no longer current.
    ///
    /// - Returns: Whether a new claim was made.
    private static func renew(
        _ claim: inout AgentClaim?, problem: inout DefaultsError?,
        attempt: () throws(DefaultsError) -> AgentClaim.Attempt, refusal: (AgentClaim.Holder?) -> DefaultsError
    ) throws(DefaultsError) -> Bool {
        if let claim, claim.isCurrent {
            claim.restrictMode()
            return false
        }
        do throws(DefaultsError) {
            switch try attempt() {
            case .claimed(let new):
                claim = new
                problem = nil
                return true
            case .held(let holder): throw refusal(holder)
            case .impossible(let error): problem = error
            }
        } catch {
            if error.code == .agentRefused { throw error }
            // There is currently nothing to claim. The old claim stands in case the directory comes back.
            if error.errno != ENOENT, error.errno != ENOTDIR { problem = error }
        }
        return false
    }
}
