/// The statistics of a series of measurements.
struct Statistics: Encodable {
    let median: Double
    let slow: Double
    /// Half of the interquartile range, relative to the median.
    let spread: Double

    /// Computes the statistics.
    ///
    /// - Returns: `nil` if nothing was measured.
    init?(_ samples: [Double]) {
        if samples.isEmpty { return nil }
        let sorted = samples.sorted()
        func quantile(_ share: Double) -> Double { sorted[Int(Double(sorted.count - 1) * share)] }
        median = quantile(0.5)
        slow = quantile(0.99)
        spread = median > 0 ? (quantile(0.75) - quantile(0.25)) / 2 / median : 0
    }
}
