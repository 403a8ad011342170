import ProgramSupport
import TestSupport
import Testing

/// What an app takes in with the library.
@Suite("What is linked")
struct LinkageTests {
    @Test(
        "The library and the command load neither Foundation nor ICU, nor the agent's library",
        arguments: [Programs.liveWriter, Programs.defaults])
    func libraries(program: String) throws {
        let outcome = try Programs.run("/usr/bin/ldd", [program])
        #expect(outcome.output.contains("libFoundationEssentials.so"), "The list is one of libraries.")
        for library in ["libFoundation.so", "FoundationICU", "FoundationInternationalization", "libinotifytools"] {
            #expect(!outcome.output.contains(library))
        }
    }
}
