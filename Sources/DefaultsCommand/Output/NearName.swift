/// Finds what someone may have meant by a name that isn't there.
///
/// Two names are near when few insertions, removals, replacements and swaps of neighbours make one of the other,
/// whatever the case of their letters: a third of the name's length, and one at least. To a name of one or two letters all
/// such names were near, and one of more than a hundred is no slip, and takes long to compare.
enum NearName {
    /// The nearest of some names, `nil` when none is near; of equally near ones the first in their order.
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

    /// A sentence to put behind a message, with a space before it; empty when no name is near.
    static func question(_ name: String, among names: some Sequence<String>) -> String {
        of(name, among: names).map { " Did you mean \"\($0)\"?" } ?? ""
    }

    /// The Damerau-Levenshtein distance of two texts, no scalar being moved twice; `nil` when it is more than a limit.
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
