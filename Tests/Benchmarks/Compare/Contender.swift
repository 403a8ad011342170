/// One way to do the measured work: ours, a peer's, or the minimum that the machine needs.
struct Contender {
    enum Role: Equatable {
        case ours
        /// Another program or library, with the package that contains it.
        case peer(package: String)
        case limit
        /// A peer that can't be measured here, with the reason.
        case unmeasured(String)
    }

    /// Does the work several times and returns the seconds it took: one average, or one figure per repetition.
    typealias Round = () throws -> [Double]

    let name: String
    let role: Role
    /// The factor by which ours should be faster than a peer, or may be slower than the limit.
    var goal: Double?
    /// The same factor at the 99th percentile.
    var slowGoal: Double?
    /// Prepares the work without measuring it; returns `nil` if a required program isn't installed.
    let begin: () throws -> Round?

    static func ours(_ name: String = "defaultsd", _ begin: @escaping () throws -> Round?) -> Contender {
        Contender(name: name, role: .ours, begin: begin)
    }

    static func peer(
        _ name: String, package: String, goal: Double? = nil, slowGoal: Double? = nil,
        _ begin: @escaping () throws -> Round?
    ) -> Contender {
        Contender(name: name, role: .peer(package: package), goal: goal, slowGoal: slowGoal, begin: begin)
    }

    static func unmeasured(_ name: String, why: String) -> Contender {
        Contender(name: name, role: .unmeasured(why)) { nil }
    }

    /// Returns an unmeasured contender with the reason if this contender is a peer, whose failures aren't ours.
    ///
    /// - Throws: The error, if this contender isn't a peer.
    func failed(_ error: any Error) throws -> Contender {
        guard case .peer = role else { throw error }
        return .unmeasured(name, why: "\(error)")
    }

    static func limit(_ name: String, goal: Double? = nil, _ begin: @escaping () throws -> Round?) -> Contender {
        Contender(name: "limit: \(name)", role: .limit, goal: goal, begin: begin)
    }
}
