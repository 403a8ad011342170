import DefaultsCore

/// The limits of one connection's subscription filters, which bound their cost to other clients.
enum SubscriptionLimits {
    /// The maximum number of patterns in a subscription's filter, and their maximum total size in bytes.
    private static let patterns = 1_000
    private static let patternBytes = 64 << 10
    /// The maximum size of a pattern with wildcards, in bytes, to which the time for matching is proportional.
    private static let wildcardPatternBytes = 1 << 10
    /// The maximum number of names in all filters of a connection; looking up a name takes almost no time, but names
    /// take memory.
    private static let names = 1 << 16

    /// Checks the filter of an additional subscription.
    static func check(
        _ filter: SubscriptionFilter, beside others: some Collection<Subscription>
    ) throws(DefaultsError) {
        let patterns = filter.patterns + filter.keys
        guard patterns.count <= Self.patterns,
            patterns.reduce(0, { $0 + $1.text.utf8.count }) <= patternBytes
        else {
            throw DefaultsError(
                .agentRefused,
                "A subscription may have at most \(Self.patterns) patterns totaling \(patternBytes) bytes.",
                remedy: "Use broader patterns, or several subscriptions.")
        }
        guard patterns.allSatisfy({ !$0.hasWildcards || $0.text.utf8.count <= wildcardPatternBytes }) else {
            throw DefaultsError(
                .agentRefused,
                "A pattern with wildcards may have at most \(wildcardPatternBytes) bytes.",
                remedy: "Use a shorter one.")
        }
        try checkNames(filter.names.count, beside: others)
    }

    /// Checks that more names are allowed.
    static func checkNames(_ count: Int, beside others: some Collection<Subscription>) throws(DefaultsError) {
        guard others.reduce(count, { $0 + $1.filter.names.count }) <= names else {
            throw DefaultsError(
                .agentRefused,
                "A connection's subscriptions may name at most \(names) domains.",
                remedy: "Use patterns instead.")
        }
    }
}
