import DefaultsCore

/// The limits of what one connection's subscriptions may name, so that none costs the others much.
enum SubscriptionLimits {
    /// The number of patterns that a subscription's filter may have, and their bytes together.
    private static let patterns = 1_000
    private static let patternBytes = 64 << 10
    /// The bytes of a pattern with wildcards: looking for a match takes time in proportion to it.
    private static let wildcardPatternBytes = 1 << 10
    /// The number of names that a connection's filters may have together: a name is found in no time among them, but takes
    /// memory.
    private static let names = 1 << 16

    /// Checks the filter of one subscription more.
    static func check(
        _ filter: SubscriptionFilter, beside others: some Collection<Subscription>
    ) throws(DefaultsError) {
        let patterns = filter.patterns + filter.keys
        guard patterns.count <= Self.patterns,
            patterns.reduce(0, { $0 + $1.text.utf8.count }) <= patternBytes
        else {
            throw DefaultsError(
                .agentRefused,
                "A subscription may have \(Self.patterns) patterns of \(patternBytes) bytes together; use broader ones, "
                    + "or several subscriptions.")
        }
        guard patterns.allSatisfy({ !$0.hasWildcards || $0.text.utf8.count <= wildcardPatternBytes }) else {
            throw DefaultsError(
                .agentRefused,
                "A pattern with wildcards may have \(wildcardPatternBytes) bytes; use a shorter one.")
        }
        try checkNames(filter.names.count, beside: others)
    }

    /// Checks how many names more there may be.
    static func checkNames(_ count: Int, beside others: some Collection<Subscription>) throws(DefaultsError) {
        guard others.reduce(count, { $0 + $1.filter.names.count }) <= names else {
            throw DefaultsError(
                .agentRefused,
                "A connection's subscriptions may name \(names) domains one by one; use patterns.")
        }
    }
}
