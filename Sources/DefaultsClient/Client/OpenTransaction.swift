import CFork
package import DefaultsCore
package import PropertyList

/// A transaction or an update whose body is running, with the values that it has read and set.
///
/// A body isn't suspended, so it runs on one thread, which knows its open transactions. Transactions and updates in the
/// body become part of it. A change that the body makes around it to a key that it has read or set is refused. It would
/// make the transaction fail and run again, with the same result each time.
package final class OpenTransaction {
    private let domain: Domain
    private let client: Client
    /// The transaction in whose body this one runs.
    private let outer: OpenTransaction?
    /// The values that the body has set; `nil` for a key that it has removed.
    package private(set) var values = Difference()
    /// The values that the domain had for the keys read so far, and must still have; `nil` for no value.
    package private(set) var expected = Difference()
    /// The keys whose updates are running.
    private var updating: Set<String> = []
    /// Whether the library is calling code that isn't the body's, such as an observer.
    private var isPaused = false
    /// The first refusal that the body's caller throws; `nil` while refusals are reported instead.
    private var thrown: (any Error)??

    package init(_ domain: Domain, of client: Client) {
        self.domain = domain
        self.client = client
        outer = Self.innermost
    }

    private static var innermost: OpenTransaction? {
        fork_transaction().map { Unmanaged.fromOpaque($0).takeUnretainedValue() }
    }

    private static func setInnermost(_ transaction: OpenTransaction?) {
        fork_set_transaction(transaction.map { Unmanaged.passUnretained($0).toOpaque() })
    }

    /// Returns this thread's open transaction for a domain, which nested transactions join.
    package static func ofThread(for domain: Domain, of client: Client) -> OpenTransaction? {
        var open = innermost
        while let transaction = open, !transaction.isPaused {
            if transaction.domain == domain, transaction.client === client { return transaction }
            open = transaction.outer
        }
        return nil
    }

    /// Calls code that doesn't belong to the body of this thread's transaction, such as an observer.
    ///
    /// Its edits don't become part of the transaction, and can't change keys that the transaction uses.
    package static func outside<Result>(_ body: () -> Result) -> Result {
        guard let open = innermost, !open.isPaused else { return body() }
        open.isPaused = true
        defer { open.isPaused = false }
        return body()
    }

    /// Runs the body of the transaction.
    package func run<Result, Failure>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        Self.setInnermost(self)
        defer { Self.setInnermost(outer) }
        return try body()
    }

    /// Runs the body of a transaction that is part of this one; if it throws, its changes are discarded.
    package func join<Result, Failure>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        let before = values
        do {
            return try body()
        } catch {
            values = before
            throw error
        }
    }

    /// Runs a body, and throws the first refusal in it instead of having it reported.
    package func throwingRefusals<Result>(_ body: () throws -> Result) throws -> Result {
        let outer = thrown
        thrown = .some(nil)
        defer { thrown = outer }
        let result = try body()
        if let refusal = thrown ?? nil { throw refusal }
        return result
    }

    /// Records a refusal to throw.
    ///
    /// - Returns: False if it must be reported instead.
    package func willThrow(_ refusal: any Error) -> Bool {
        guard let first = thrown else { return false }
        thrown = first ?? refusal
        return true
    }

    /// Runs the body of an update, during which nothing else may change the key.
    package func update<Result>(_ key: String, _ body: () throws -> Result) throws -> Result {
        updating.insert(key)
        defer { updating.remove(key) }
        return try body()
    }

    /// Records that the body reads a key from the domain.
    package func read(_ key: String) {
        if expected[key] == nil { expected[key] = .some(client.currentValues(of: domain)[key]) }
    }

    /// Sets or removes a key.
    package func set(_ value: PropertyListValue?, forKey key: String) throws(DefaultsError) {
        try EditRequest.check(key, with: value, for: domain)
        try checkNotUpdating(key)
        values[key] = .some(value)
    }

    /// Checks that no update of a key is running.
    package func checkNotUpdating(_ key: String) throws(DefaultsError) {
        if updating.contains(key) { throw refusal(of: key) }
    }

    private func refusal(of key: String) -> DefaultsError {
        DefaultsError(
            .readOnly,
            "\"\(key)\" of \(domain) can't be changed here, in the body of a transaction or an update that uses the "
                + "key.",
            remedy: "Change it through the body's argument.")
    }

    /// Returns the reasons why this thread can't change keys of a domain outside its open transaction; usually none.
    static func refusals(
        of keys: some Sequence<String>, in domain: Domain, of client: Client
    ) -> [String: DefaultsError] {
        var refusals: [String: DefaultsError] = [:]
        var next = innermost
        while let open = next {
            next = open.outer
            guard open.domain == domain, open.client === client else { continue }
            for key in keys where open.expected[key] != nil || open.values[key] != nil {
                refusals[key] = open.refusal(of: key)
            }
        }
        return refusals
    }
}
