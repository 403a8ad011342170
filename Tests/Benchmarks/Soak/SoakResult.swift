/// The result of one kind of soak test.
struct SoakResult {
    var kind: SoakKind
    var rounds = 0
    /// The writes that foreign writers completed, and the acknowledged edits.
    var foreign = 0
    var own = 0
    /// The writes and edits that were missing at the end of their round.
    var foreignLost = 0
    var ownLost = 0
    /// The number of agents, apps and writers that were ended by a signal.
    var ends = 0
    var records = 0
    var findings: [String] = []
    /// Figures for the report, such as sizes.
    var figures: [String] = []

    var isClean: Bool { foreignLost == 0 && ownLost == 0 && findings.isEmpty }

    static let header = "kind          rounds   writes     lost    edits     lost     ends  records"

    var line: String {
        let name = kind.rawValue.padding(to: 12)
        let numbers = [rounds, foreign, foreignLost, own, ownLost, ends, records]
        return name + numbers.map { " " + "\($0)".leftPadding(to: 8) }.joined()
    }
}

extension String {
    fileprivate func padding(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
    fileprivate func leftPadding(to width: Int) -> String {
        String(repeating: " ", count: max(0, width - count)) + self
    }
}
