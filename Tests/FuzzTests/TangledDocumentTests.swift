import FuzzTargets
import Testing

/// Tests with binary documents as nobody writes them.
@Suite("Splicing tangled documents")
struct TangledDocumentTests {
    @Test("A splice of objects that are shared, overlap or are unused is either refused or correct")
    func tangled() throws {
        var random = SystemRandomNumberGenerator()
        var splices = 0
        for _ in 0..<20_000 {
            let choices = (0..<120).map { _ in UInt8.random(in: 0...255, using: &random) }
            #expect(throws: Never.self, "\(choices)") {
                if try SpliceCheck.splices(TangledDocument(choosing: choices).bytes) { splices += 1 }
            }
        }
        // Most are refused, but the others must not be too few to tell.
        #expect(splices > 50)
    }
}
