/// One way to do a work: ours, a peer's, or the least that the machine takes for it.
struct Contender {
    enum Role: Equatable {
        case ours
        /// Another program or library, and the package that has it.
        case peer(package: String)
        case limit
        /// A peer that can't be measured here, and why.
        case unmeasured(String)
    }

    /// Does the work some times, and gives what one time took, in seconds: one figure for all, or one for each.
    typealias Round = () throws -> [Double]

    let name: String
    let role: Role
    /// How many times ours is to be faster than a peer, or may be slower than the limit.
    var goal: Double?
    /// The same at the 99th percentile.
    var slowGoal: Double?
    /// Makes ready, which isn't measured; `nil` where what it needs isn't installed.
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

    static func limit(_ name: String, goal: Double? = nil, _ begin: @escaping () throws -> Round?) -> Contender {
        Contender(name: "limit: \(name)", role: .limit, goal: goal, begin: begin)
    }
}
