/// The requests of a kind that wait for an answer, by their numbers, which grow.
struct PendingRequests<Purpose> {
    private var requests: [UInt64: (purpose: Purpose, since: MonotonicTime)] = [:]
    /// None before this one waits.
    private var first: UInt64 = 0
    private var last: UInt64 = 0

    /// When the oldest request was sent; `nil` when none waits.
    var oldest: MonotonicTime? { requests[first]?.since }

    /// Adds a request that was just sent.
    mutating func add(_ number: UInt64, _ purpose: Purpose) {
        if requests.isEmpty { first = number }
        last = number
        requests[number] = (purpose, .now())
    }

    /// Takes out a request that was answered; `nil` when there is none of the number.
    mutating func take(_ number: UInt64) -> Purpose? {
        guard let request = requests.removeValue(forKey: number) else { return nil }
        // Each number is passed once.
        while !requests.isEmpty, requests[first] == nil, first < last { first += 1 }
        return request.purpose
    }
}
