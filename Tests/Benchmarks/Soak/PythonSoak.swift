import Foundation
import TestSupport

/// A soak test of the Python package by `Tests/Python/soak.py`, which has an agent of its own.
struct PythonSoak {
    func run(for seconds: Double) throws -> SoakResult {
        var result = SoakResult(kind: .python)
        let check = try? Programs.run("python3", ["-c", "import sys; sys.exit(sys.version_info < (3, 10))"])
        guard check?.status == 0 else {
            result.figures = ["SKIPPED: there is no Python 3.10."]
            return result
        }
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..").standardized.path
        let program = try RunningProgram(
            "timeout", ["\(300 + 3 * seconds)", "python3", "\(root)/Tests/Python/soak.py", "--seconds", "\(seconds)"],
            environment: [
                "PYTHONPATH": "\(root)/Sources/python/src", "PYTHONDONTWRITEBYTECODE": "1",
                "DEFAULTSD_PROGRAMS": URL(filePath: BenchEnvironment.beside("defaultsd")).deletingLastPathComponent()
                    .path,
            ])
        let outcome = try program.finish()
        guard let json = try? JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any] else {
            throw BenchFailure("The soak test of the Python package failed: \(outcome.errors)")
        }
        guard let ends = json["ends"] as? [String: Int], let findings = json["findings"] as? [String] else {
            throw BenchFailure("The soak test of the Python package didn't say what it found: \(outcome.output)")
        }
        func number(_ name: String) throws -> Int {
            guard let number = json[name] as? Int else { throw BenchFailure("\(name) is missing: \(outcome.output)") }
            return number
        }
        result.rounds = 1
        (result.foreign, result.foreignLost) = (try number("foreign"), try number("lostForeign"))
        (result.own, result.ownLost, result.records) = (try number("edits"), try number("lost"), try number("received"))
        result.ends = ends.values.reduce(0, +)
        result.findings = findings
        if outcome.status != 0, result.isClean { result.findings.append("It ended with \(outcome.status).") }
        return result
    }
}
