import Linux
import Testing

@Suite("Delays between attempts")
struct RetryDelayTests {
    @Test("A delay doubles with each failure up to its limit, however many failures there are")
    func doubling() {
        let delay = RetryDelay(first: .seconds(30), limit: .seconds(600))
        #expect((0...6).map(delay.after) == [30, 60, 120, 240, 480, 600, 600].map { .seconds($0) })
        #expect(delay.after(.max) == .seconds(600))
    }
}
