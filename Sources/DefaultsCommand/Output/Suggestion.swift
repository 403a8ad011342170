/// The search for a name similar to a misspelled one.
///
/// Two names are similar if a few insertions, deletions, substitutions and swaps of neighboring letters turn one into
/// the other, ignoring case. Up to a third of the name's length is allowed, but at least one. A name of one or two
/// letters gets no suggestion, because it would be similar to too many others. Nor does a name of more than a hundred,
/// which is slow to compare and unlikely to be a typing error.
enum Suggestion {
    /// Returns the most similar name, or the alphabetically first of several; `nil` if none is similar.
    static func of(_ name: String, among names: some Sequence<String>) -> String? {
        let wanted = Array(name.lowercased().unicodeScalars)
        guard wanted.count <= 100 else { return nil }
        let limit = wanted.count < 3 ? 0 : max(1, wanted.count / 3)
        var best: (name: String, distance: Int)?
        for candidate in Set(names).subtracting([name]).sorted() {
            let distance = distance(wanted, Array(candidate.lowercased().unicodeScalars), upTo: best?.distance ?? limit)
            guard let distance, distance < best?.distance ?? (limit + 1) else { continue }
            best = (candidate, distance)
        }
        return best?.name
    }

    /// Returns a question for the end of a message, with a leading space; empty if no name is similar.
    static func question(_ name: String, among names: some Sequence<String>) -> String {
        of(name, among: names).map { " Did you mean \"\($0)\"?" } ?? ""
    }

    /// Returns the optimal string alignment distance of two texts; `nil` if it exceeds a limit.
    private static func distance(_ first: [Unicode.Scalar], _ second: [Unicode.Scalar], upTo limit: Int) -> Int? {
        guard abs(first.count - second.count) <= limit else { return nil }
        var beforeLast: [Int] = []
        var last = Array(0...second.count)
        for row in 0..<first.count {
            var next = [row + 1]
            for column in 0..<second.count {
                var cost = min(last[column + 1], next[column]) + 1
                cost = min(cost, last[column] + (first[row] == second[column] ? 0 : 1))
                if row > 0, column > 0, first[row] == second[column - 1], first[row - 1] == second[column] {
                    cost = min(cost, beforeLast[column - 1] + 1)
                }
                next.append(cost)
            }
            if next.allSatisfy({ $0 > limit }) { return nil }
            (beforeLast, last) = (last, next)
        }
        return last[second.count] <= limit ? last[second.count] : nil
    }
}
