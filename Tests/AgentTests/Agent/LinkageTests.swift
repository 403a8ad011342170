import ProgramSupport
import TestSupport
import Testing

/// The libraries that an app loads along with this one.
@Suite("Linked libraries")
struct LinkageTests {
    @Test(
        "A program with the library loads neither full Foundation, nor ICU, nor the agent's inotifytools",
        arguments: [Programs.liveWriter, Programs.defaults])
    func libraries(program: String) throws {
        let outcome = try Programs.run("/usr/bin/ldd", [program])
        #expect(outcome.output.contains("libFoundationEssentials.so"), "ldd must list the libraries.")
        for library in ["libFoundation.so", "FoundationICU", "FoundationInternationalization", "libinotifytools"] {
            #expect(!outcome.output.contains(library))
        }
    }
}
