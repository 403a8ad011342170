import FuzzTargets
import Testing

/// Tests with binary documents that no program writes.
@Suite("Splicing tangled documents")
struct TangledDocumentTests {
    @Test("A splice of objects that are shared, overlap or are unused is either refused or correct")
    func tangled() throws {
        var random = SystemRandomNumberGenerator()
        var outcomes: [Bool?: Int] = [:]
        for _ in 0..<20_000 {
            let choices = (0..<120).map { _ in UInt8.random(in: 0...255, using: &random) }
            #expect(throws: Never.self, "\(choices)") {
                outcomes[try SpliceCheck.splices(TangledDocument(choosing: choices).bytes), default: 0] += 1
            }
        }
        // Both must be common enough to tell.
        #expect(outcomes[true, default: 0] > 4_000 && outcomes[false, default: 0] > 4_000, "\(outcomes)")
    }
}
