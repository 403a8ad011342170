import ArgumentParser

/// A group of benchmarks, as named by `--only`.
enum Topic: String, CaseIterable, ExpressibleByArgument {
    case read, set, plist, command, line, update, fanout, growth, start, manifest

    func works(at place: BenchEnvironment, isQuick: Bool) throws -> [Work] {
        switch self {
        case .read: try ReadWork(place).works(isQuick: isQuick)
        case .set: try SetWork(place).works(isQuick: isQuick)
        case .plist: try PropertyListWork(isQuick: isQuick).works()
        case .command: try CommandWork(place).works(isQuick: isQuick)
        case .line: try LineWork(place).works(isQuick: isQuick)
        case .update: try UpdateWork(place).works(isQuick: isQuick)
        case .fanout: try FanOutWork(place).works(isQuick: isQuick)
        case .growth: try GrowthWork(place).works(isQuick: isQuick)
        case .start: try StartWork(place).works(isQuick: isQuick)
        case .manifest: try ManifestWork(place).works(isQuick: isQuick)
        }
    }
}
