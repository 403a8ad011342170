import Glibc

/// Polls a condition until it is true or a timeout expires.
///
/// - Returns: Whether the condition became true in time.
package func eventually(within seconds: Double = 10, _ condition: () throws -> Bool) rethrows -> Bool {
    let clock = ContinuousClock()
    let deadline = clock.now + .seconds(seconds)
    while true {
        if try condition() { return true }
        if clock.now >= deadline { return false }
        poll(nil, 0, 2)
    }
}

/// Suspends until a condition is true or a timeout expires, while others use the caller's actor.
///
/// - Returns: Whether the condition became true in time.
package func until(
    within seconds: Double = 10, isolation: isolated (any Actor)? = #isolation, _ condition: () -> Bool
) async -> Bool {
    let clock = ContinuousClock()
    let deadline = clock.now + .seconds(seconds)
    while !condition() {
        if clock.now >= deadline || Task.isCancelled { return condition() }
        await Task.yield()
    }
    return true
}
