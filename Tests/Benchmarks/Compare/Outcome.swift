import Foundation

/// The outcome of one contender's turns, compared with ours.
struct Outcome {
    let work: String
    let unit: Work.Unit
    let contender: Contender
    let statistics: Statistics?
    let ours: Statistics?
    /// Whether the figures come from few turns, so that only a clear difference says anything.
    let isRough: Bool

    /// Returns the factor by which ours is faster than a peer, or slower than the limit.
    private func ratio(_ figure: KeyPath<Statistics, Double>) -> Double? {
        guard let ours, let statistics, contender.role != .ours else { return nil }
        return contender.role == .limit
            ? ours[keyPath: figure] / statistics[keyPath: figure] : statistics[keyPath: figure] / ours[keyPath: figure]
    }

    private enum Verdict: String {
        case met, missed
        /// The difference from the goal is within the noise of a few turns.
        case close
    }

    /// The comparison with the goals; `nil` if there are none.
    private var verdict: Verdict? {
        let pairs = [(contender.goal, ratio(\.median)), (contender.slowGoal, ratio(\.slow))]
        // The factors by which the ratios miss their goals; at most 1 for a goal that is met.
        let shortfalls = pairs.compactMap { goal, ratio in
            goal.flatMap { goal in ratio.map { contender.role == .limit ? $0 / goal : goal / $0 } }
        }
        guard let worst = shortfalls.max() else { return nil }
        if worst <= 1 { return .met }
        let noise = isRough ? (ours?.spread ?? 0) + (statistics?.spread ?? 0) : 0
        return worst <= 1 + noise ? .close : .missed
    }

    private static let nameWidth = 36

    static let header =
        "".padding(toLength: nameWidth, withPad: " ", startingAt: 0)
        + "     median        p99    ±    ratio at p99  goal"

    /// The outcome as a line of the table.
    var line: String {
        let name = "  " + contender.name.padding(toLength: Self.nameWidth - 2, withPad: " ", startingAt: 0)
        guard let statistics else {
            switch contender.role {
            case .peer(let package): return name + "          –  (not installed: \(package))"
            case .unmeasured(let reason): return name + "          –  (\(reason))"
            case .ours, .limit: return name + "          –"
            }
        }
        var line = name + Self.figure(statistics.median * unit.scale) + Self.figure(statistics.slow * unit.scale)
        line += String(format: " %3.0f%%", statistics.spread * 100)
        guard let median = ratio(\.median), let slow = ratio(\.slow) else { return line }
        line += String(format: " %8.2f %6.2f", median, slow)
        if let verdict {
            let sign = contender.role == .limit ? "≤" : "≥"
            let goals = [contender.goal, contender.slowGoal].compactMap(\.self)
            line += "  \(sign) " + goals.map { String(format: "%.3g", $0) }.joined(separator: ", ")
            switch verdict {
            case .met: break
            case .close: line += "  close"
            case .missed: line += "  MISSED"
            }
        }
        return line
    }

    private static func figure(_ value: Double) -> String {
        let digits = value < 10 ? 2 : value < 100 ? 1 : 0
        return String(format: "%11.\(digits)f", value)
    }

    /// The outcome as a JSON object.
    var json: [String: Any] {
        var object: [String: Any] = ["work": work, "contender": contender.name, "unit": unit.rawValue]
        if let statistics {
            object["median"] = statistics.median * unit.scale
            object["p99"] = statistics.slow * unit.scale
            object["spread"] = statistics.spread
        } else if case .peer(let package) = contender.role {
            object["missing"] = package
        } else if case .unmeasured(let reason) = contender.role {
            object["reason"] = reason
        }
        object["ratio"] = ratio(\.median)
        object["ratioAtP99"] = ratio(\.slow)
        object["goal"] = contender.goal
        object["goalAtP99"] = contender.slowGoal
        object["verdict"] = verdict?.rawValue
        return object
    }
}
