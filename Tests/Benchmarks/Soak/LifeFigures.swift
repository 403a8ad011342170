import Glibc

/// The figures of all sessions of a life, and their bounds.
struct LifeFigures {
    /// A quantity that must not grow with the number of sessions.
    private struct Figure {
        let name: String
        let unit: String
        /// The value that no session may exceed; `nil` if it follows from the first sessions.
        var bound: Double?
        /// The factor, and the constant, by which a session may exceed the first tenth of them.
        var factor = 1.0
        var constant = 0.0
        var values: [Double] = []

        /// Adds the value of a session; the first tenth may determine the bound.
        mutating func add(_ value: Double, _ tenth: Int) {
            values.append(value)
            if bound == nil, values.count == tenth { bound = (values.max() ?? 0) * factor + constant }
        }

        var breach: String? {
            guard let value = values.last, let bound, value > bound else { return nil }
            return "\(name): \(text(value)), more than \(text(bound))."
        }

        func text(_ value: Double) -> String {
            if unit == "MB" { return "\((value * 100).rounded() / 100) MB" }
            return "\(Int(value.rounded()))\(unit)"
        }
    }

    private enum Name: Int, CaseIterable {
        case log, logGrowth, archive, other, files, start, resident, peak, descriptors, threads
    }

    private var figures: [Figure]
    private let tenth: Int

    /// Creates the bounds.
    ///
    /// - Parameters:
    ///   - sessions: The number of sessions.
    ///   - domains: The number of domains, each with a file.
    init(sessions: Int, domains: Int) {
        tenth = max(1, sessions / 10)
        let (log, archive) = (Double(LifeSoak.logBytes) / 1e6, Double(LifeSoak.historyBytes) / 1e6)
        figures = Name.allCases.map { name in
            switch name {
            // The file is replaced when it is twice as large as the log. If that fails, such as on a full disk, the
            // next attempt is made when it has grown by half; a new agent begins anew.
            case .log: Figure(name: "log", unit: "MB", bound: 4 * log)
            // A new agent adds a mark of each file, and of each domain with unsaved edits; the last one, its end.
            case .logGrowth: Figure(name: "log's growth at a start", unit: "MB", bound: 0.064)
            // It is thinned when it is too large by a quarter, after a replacement of the log has added at most that.
            case .archive: Figure(name: "archive", unit: "MB", bound: 1.25 * archive + 4 * log)
            // The largest domain has 60 KB of text.
            case .other: Figure(name: "other file", unit: "MB", bound: 0.128)
            // Beside the domains' files: log, archive and a draft of each; socket, claims and locks; and displaced
            // files that the next agent examines.
            case .files: Figure(name: "files", unit: "", bound: Double(domains + 16))
            // A start reads the log, which grows to its bound in the first sessions. Other programs, and a full disk,
            // delay a single start.
            case .start: Figure(name: "start", unit: " ms", factor: 5, constant: 1_000)
            // The log's records are in memory up to LogBytes, beside what reading the file has left.
            case .resident: Figure(name: "resident memory", unit: "MB", factor: 1, constant: 12)
            case .peak: Figure(name: "peak memory", unit: "MB", factor: 1, constant: 24)
            case .descriptors: Figure(name: "descriptors", unit: "", factor: 1, constant: 8)
            case .threads: Figure(name: "threads", unit: "", factor: 1, constant: 4)
            }
        }
    }

    /// An agent that has just answered for the first time.
    struct Agent {
        var seconds: Double
        var residentBytes: Int
        var peakBytes: Int
        var descriptors: Int
        var threads: Int
    }

    /// A file and its identity, which changes when it is written.
    struct File: Hashable, CustomStringConvertible {
        var path: String
        var bytes: Int
        var inode: UInt
        var time: Int
        var description: String { path }
    }

    mutating func add(_ agent: Agent) {
        add(.start, agent.seconds * 1e3)
        add(.resident, Double(agent.residentBytes) / 1e6)
        add(.peak, Double(agent.peakBytes) / 1e6)
        add(.descriptors, Double(agent.descriptors))
        add(.threads, Double(agent.threads))
    }

    mutating func add(logGrowth bytes: Int) { add(.logGrowth, Double(bytes) / 1e6) }

    mutating func add(_ files: [File]) {
        func largest(_ isMeant: (String) -> Bool) -> Double {
            Double(files.filter { isMeant($0.path) }.map(\.bytes).max() ?? 0) / 1e6
        }
        func isHistory(_ path: String) -> Bool { path.contains(".log") || path.contains(".archive") }
        add(.log, largest { $0.contains(".log") })
        add(.archive, largest { $0.contains(".archive") })
        add(.other, largest { !isHistory($0) })
        add(.files, Double(files.count))
    }

    private mutating func add(_ name: Name, _ value: Double) { figures[name.rawValue].add(value, tenth) }

    /// Sentences about the figures of the last session that exceed their bounds.
    var breaches: [String] { figures.compactMap(\.breach) }

    /// Sentences about figures that have grown steadily, although no session has exceeded a bound.
    ///
    /// A start takes longer while the log's file is large, and so the middle of the life, when it has reached its size,
    /// is compared with the end.
    var growth: [String] {
        let start = figures[Name.start.rawValue]
        guard start.values.count >= 4 * tenth else { return [] }
        let half = start.values.count / 2
        let middle = Self.median(start.values[(half - tenth)..<(half + tenth)])
        let last = Self.median(start.values.suffix(2 * tenth))
        if last <= 2 * middle + 20 { return [] }
        return ["A start took \(start.text(middle)) in the middle of the life, \(start.text(last)) at its end."]
    }

    /// The maxima, the bounds, and the medians of the first and the last tenth.
    var lines: [String] {
        figures.map { figure in
            let first = Self.median(figure.values.prefix(tenth))
            let last = Self.median(figure.values.suffix(tenth))
            let bound = figure.bound.map { ", bound \(figure.text($0))" } ?? ""
            return "\(figure.name): first tenth \(figure.text(first)), last tenth \(figure.text(last)), "
                + "maximum \(figure.text(figure.values.max() ?? 0))\(bound)"
        }
    }

    private static func median(_ values: ArraySlice<Double>) -> Double {
        values.isEmpty ? 0 : values.sorted()[values.count / 2]
    }
}
