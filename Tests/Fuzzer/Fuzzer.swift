import CFuzzer
import FuzzTargets
import Glibc

/// A fuzzer for the target named by `FUZZ_TARGET`; its arguments are libFuzzer's.
///
/// An ordinary build has no libFuzzer and does nothing: `.ci/fuzz` builds the fuzzer.
@main
enum Fuzzer {
    static let target = getenv("FUZZ_TARGET").flatMap { FuzzTarget(rawValue: String(cString: $0)) }

    static func main() {
        if target == nil { fail("FUZZ_TARGET must be one of \(FuzzTarget.allCases.map(\.rawValue)).") }
        let status = runFuzzer(CommandLine.argc, CommandLine.unsafeArgv) { Fuzzer.check($0, $1) }
        if status < 0 { fail("Fuzz with `.ci/fuzz`; `swift test --filter FuzzTests` replays earlier findings.") }
        exit(status)
    }

    /// Runs the target with an input; a finding aborts the process, and libFuzzer keeps the input.
    private static func check(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
        do throws(FuzzTarget.Finding) {
            try target?.check(Array(UnsafeBufferPointer(start: start, count: start == nil ? 0 : count)))
        } catch {
            complain("\(error)")
            abort()
        }
        return 0
    }

    private static func fail(_ text: String) -> Never {
        complain(text)
        exit(64)
    }

    private static func complain(_ text: String) {
        let line = Array("\(text)\n".utf8)
        _ = write(STDERR_FILENO, line, line.count)
    }
}
