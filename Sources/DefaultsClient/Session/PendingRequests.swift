import Linux

/// The unanswered requests of one kind, by their steadily increasing numbers.
struct PendingRequests<Purpose> {
    private var requests: [UInt64: (purpose: Purpose, since: MonotonicTime)] = [:]
    /// The number of the oldest unanswered request, if there is any.
    private var first: UInt64 = 0
    private var last: UInt64 = 0

    /// The time at which the oldest unanswered request was sent; `nil` if there is none.
    var oldest: MonotonicTime? { requests[first]?.since }

    /// Adds a request that was just sent.
    mutating func add(_ number: UInt64, for purpose: Purpose) {
        if requests.isEmpty { first = number }
        last = number
        requests[number] = (purpose, .now())
    }

    /// Removes an answered request and returns its purpose; returns `nil` if no request has the number.
    mutating func remove(_ number: UInt64) -> Purpose? {
        guard let request = requests.removeValue(forKey: number) else { return nil }
        // Each number is passed once, so the amortized cost is constant.
        while !requests.isEmpty, requests[first] == nil, first < last { first += 1 }
        return request.purpose
    }
}
