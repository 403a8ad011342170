import DefaultsCore
import Glibc

/// The claims that an agent holds for as long as it runs: on its directory, and on its socket.
struct AgentClaims {
    private let claims: [AgentClaim]
    /// Why the directory isn't claimed, where no file can be made in it.
    let problem: DefaultsError?

    /// The time that an agent handing over has to save what is pending, and end.
    private static let mostOfAHandover = Duration.seconds(15)
    /// The time that an agent which does not answer has to start or end.
    private static let mostOfSilence = Duration.seconds(2)

    /// Claims both.
    ///
    /// - Parameters:
    ///   - directory: the preferences directory, which must exist.
    ///   - address: where the agent will listen, in a directory that exists.
    ///   - asksOthers: whether to ask a private agent that has them to hand them over.
    /// - Throws: `agentRefused` when another agent has one of them and keeps it.
    init(on directory: PreferencesDirectory, at address: AgentAddress, asksOthers: Bool) throws(DefaultsError) {
        var end = ContinuousClock.now + Self.mostOfSilence
        var asked: AgentClaim.Holder?
        while true {
            let outcome = try Self.attempt(directory, address)
            guard case .held(let holder, let refusal) = outcome else {
                guard case .all(let claims, let problem) = outcome else { continue }
                (self.claims, self.problem) = (claims, problem)
                return
            }
            guard asksOthers, .now < end else { throw refusal }
            if let holder, holder != asked {
                switch HandOver.request(at: holder.socketPath) {
                case .granted:
                    asked = holder
                    end = .now + Self.mostOfAHandover
                case .refused: throw refusal
                case .unanswered: break
                }
            }
            poll(nil, 0, 20)
        }
    }

    private enum Outcome {
        case all([AgentClaim], DefaultsError?)
        case held(AgentClaim.Holder?, DefaultsError)
    }

    private static func attempt(
        _ directory: PreferencesDirectory, _ address: AgentAddress
    ) throws(DefaultsError) -> Outcome {
        var claims: [AgentClaim] = []
        var problem: DefaultsError?
        switch try AgentClaim.attempt(onDirectory: directory, for: address) {
        case .claimed(let claim): claims.append(claim)
        case .held(let holder): return .held(holder, refusal("the directory \(directory.path)", holder))
        case .impossible(let error): problem = error
        }
        switch try AgentClaim.attempt(onSocketOf: address) {
        case .claimed(let claim): claims.append(claim)
        case .held(let holder): return .held(holder, refusal("the socket \(address.socketPath)", holder))
        case .impossible(let error): throw error
        }
        return .all(claims, problem)
    }

    private static func refusal(_ what: String, _ holder: AgentClaim.Holder?) -> DefaultsError {
        guard let holder else {
            return DefaultsError(
                .agentRefused, "Another agent already serves \(what). For its status, run `defaults status`.")
        }
        return DefaultsError(
            .agentRefused,
            "Another agent (\(holder.description)) already serves \(what) at \(holder.socketPath). For its status, run "
                + "`defaults status --socket \(holder.socketPath)`. \(holder.stopping)")
    }
}
