import DefaultsCore
import Glibc
import Synchronization

/// The claims that an agent holds for as long as it runs: on its directory, and on its socket.
final class AgentClaims: Sendable {
    private let directory: PreferencesDirectory
    private let address: AgentAddress
    /// The claims that are held.
    ///
    /// Held while files are opened and locked; nothing is called under it that could wait.
    private let held: Mutex<Held>

    private struct Held {
        /// `nil` where no file can be made in the directory.
        var directory: AgentClaim?
        var socket: AgentClaim?
        /// Why the directory isn't claimed.
        var problem: DefaultsError?
    }

    /// The time that an agent handing over has to save what is pending, and end.
    private static let mostOfAHandover = Duration.seconds(15)
    /// The time that an agent which does not answer has to start or end.
    private static let mostOfSilence = Duration.seconds(2)
    /// The time for which a client may have locked the file, to see whether an agent has.
    private static let mostOfALook = Duration.milliseconds(100)

    /// Claims both.
    ///
    /// - Parameters:
    ///   - directory: the preferences directory, which must exist.
    ///   - address: where the agent will listen, in a directory that exists.
    ///   - asksOthers: whether to ask a private agent that has them to hand them over.
    /// - Throws: `agentRefused` when another agent has one of them and keeps it.
    init(on directory: PreferencesDirectory, at address: AgentAddress, asksOthers: Bool) throws(DefaultsError) {
        var end = ContinuousClock.now + (asksOthers ? Self.mostOfSilence : Self.mostOfALook)
        var asked: AgentClaim.Holder?
        while true {
            let refusal: Refusal
            switch try Self.attempt(directory, address) {
            case .all(let claims):
                (self.directory, self.address) = (directory, address)
                held = Mutex(claims)
                return
            case .held(let found): refusal = found
            }
            guard .now < end else { throw refusal.error }
            if asksOthers, let holder = refusal.holder, holder != asked {
                switch HandOver.request(to: holder, serving: refusal.isOfDirectory ? nil : directory) {
                case .granted:
                    asked = holder
                    end = .now + Self.mostOfAHandover
                case .refused: throw refusal.error
                case .unanswered: break
                }
            }
            poll(nil, 0, 20)
        }
    }

    private enum Outcome {
        case all(Held)
        case held(Refusal)
    }

    /// A claim that another agent has.
    private struct Refusal {
        var holder: AgentClaim.Holder?
        var isOfDirectory: Bool
        var error: DefaultsError

        init(_ what: String, _ holder: AgentClaim.Holder?, isOfDirectory: Bool) {
            self.holder = holder
            self.isOfDirectory = isOfDirectory
            guard let holder else {
                error = DefaultsError(
                    .agentRefused, "Another agent already serves \(what). For its status, run `defaults status`.")
                return
            }
            error = DefaultsError(
                .agentRefused,
                "Another agent (\(holder.description)) already serves \(what) at \(holder.socketPath). For its status, run "
                    + "`defaults status --socket \(holder.socketPath)`. \(holder.stopping)")
        }
    }

    private static func attempt(
        _ directory: PreferencesDirectory, _ address: AgentAddress
    ) throws(DefaultsError) -> Outcome {
        var claims = Held()
        switch try AgentClaim.attempt(onDirectory: directory, for: address) {
        case .claimed(let claim): claims.directory = claim
        case .held(let holder): return .held(refusal(directory, holder))
        case .impossible(let error): claims.problem = error
        }
        switch try AgentClaim.attempt(onSocketOf: address) {
        case .claimed(let claim): claims.socket = claim
        case .held(let holder): return .held(refusal(address, holder))
        case .impossible(let error): throw error
        }
        return .all(claims)
    }

    private static func refusal(_ directory: PreferencesDirectory, _ holder: AgentClaim.Holder?) -> Refusal {
        Refusal("the directory \(directory.path)", holder, isOfDirectory: true)
    }

    private static func refusal(_ address: AgentAddress, _ holder: AgentClaim.Holder?) -> Refusal {
        Refusal("the socket \(address.socketPath)", holder, isOfDirectory: false)
    }

    /// Lets the claims go, and removes their files.
    func release() { held.withLock { $0 = Held() } }

    // MARK: While the agent runs

    /// Why the directory isn't claimed, where no file can be made in it.
    var problem: DefaultsError? { held.withLock { $0.problem } }

    /// Whether the files of the claims that were made are where others look for them.
    var areCurrent: Bool {
        held.withLock { $0.directory?.isCurrent != false && $0.socket?.isCurrent == true }
    }

    /// Claims the directory and the socket again if their files aren't where others look for them: another directory has
    /// the path, a file was removed, or none could be made before.
    ///
    /// - Returns: What was claimed, each in a sentence for the log.
    /// - Throws: `agentRefused` when another agent has a claim by now.
    func renew() throws(DefaultsError) -> [String] {
        try held.withLock { held throws(DefaultsError) in
            var news: [String] = []
            if try Self.renew(
                &held.directory, problem: &held.problem,
                { () throws(DefaultsError) in try AgentClaim.attempt(onDirectory: directory, for: address) },
                { Self.refusal(directory, $0).error })
            {
                news.append("The directory \(directory.path) is now locked for this agent.")
            }
            var problem: DefaultsError?
            if try Self.renew(
                &held.socket, problem: &problem,
                { () throws(DefaultsError) in
                    try address.makeDirectory()
                    return try AgentClaim.attempt(onSocketOf: address)
                }, { Self.refusal(address, $0).error })
            {
                news.append("The socket \(address.socketPath) is locked for this agent again.")
            }
            return news
        }
    }

    /// - Returns: Whether a claim was made.
    private static func renew(
        _ claim: inout AgentClaim?, problem: inout DefaultsError?,
        _ attempt: () throws(DefaultsError) -> AgentClaim.Attempt, _ refusal: (AgentClaim.Holder?) -> DefaultsError
    ) throws(DefaultsError) -> Bool {
        if let claim, claim.isCurrent {
            claim.keepPrivate()
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
            // Nothing is there to be claimed now: the old claim stands in case the directory comes back.
            if error.errno != ENOENT, error.errno != ENOTDIR { problem = error }
        }
        return false
    }
}
