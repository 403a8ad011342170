import Glibc

/// Asks again and again until something is so, at the latest until a deadline.
///
/// - Returns: whether it came to be so.
package func eventually(within seconds: Double = 10, _ condition: () throws -> Bool) rethrows -> Bool {
    let clock = ContinuousClock()
    let deadline = clock.now + .seconds(seconds)
    while true {
        if try condition() { return true }
        if clock.now >= deadline { return false }
        poll(nil, 0, 2)
    }
}
