/// A measured piece of work, with its contenders.
struct Work {
    let name: String
    let unit: Unit
    /// The number of turns of each contender; contenders alternate, so that all face the same conditions.
    var rounds: Int
    let contenders: [Contender]

    /// The number of turns below which a figure is rough.
    private static let fewRounds = 10

    /// The unit of the figures.
    enum Unit: String {
        case nanoseconds = "ns"
        case microseconds = "µs"
        case milliseconds = "ms"
        case megabytes = "MB"

        /// The number of units in the base unit of a round's results: a second or a byte.
        var scale: Double {
            switch self {
            case .nanoseconds: 1e9
            case .microseconds: 1e6
            case .milliseconds: 1e3
            case .megabytes: 1e-6
            }
        }
    }

    /// Runs the contenders in turn.
    func measure() throws -> [Outcome] {
        var entrants: [(contender: Contender, round: Contender.Round?, samples: [Double])] = []
        for contender in contenders {
            do {
                entrants.append((contender, try contender.begin(), []))
            } catch {
                entrants.append((try contender.failed(error), nil, []))
            }
        }
        // The first turn is a warm-up.
        for round in 0...rounds {
            for index in entrants.indices {
                guard let run = entrants[index].round else { continue }
                do {
                    let samples = try run()
                    if round > 0 { entrants[index].samples += samples }
                } catch {
                    entrants[index] = (try entrants[index].contender.failed(error), nil, [])
                }
            }
        }
        let ours = entrants.first { $0.contender.role == .ours }.flatMap { Statistics($0.samples) }
        return entrants.map {
            Outcome(
                work: name, unit: unit, contender: $0.contender, statistics: Statistics($0.samples), ours: ours,
                isRough: rounds < Self.fewRounds)
        }
    }
}
