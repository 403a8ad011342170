import Foundation

extension RunningProgram {
    /// Waits for the next line and checks that it is the expected line.
    ///
    /// - Throws: An error that quotes the program's standard error, which may explain the difference.
    package func expect(_ line: String) throws {
        let next = self.line()
        if next == line { return }
        throw UnexpectedOutput(description: "\(next ?? "No line") instead of \(line). Standard error: \(complaints())")
    }

    /// Waits for the next line and parses it as a JSON object.
    package func object() throws -> [String: Any] {
        guard let line = line() else {
            let end = status(within: 1).map { "it ended with status \($0)" } ?? "it is still running"
            throw UnexpectedOutput(description: "No line arrived, \(end): \(complaints())")
        }
        guard let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] else {
            throw UnexpectedOutput(description: "Not a JSON object: \(line)")
        }
        return object
    }

    /// Returns the objects up to and including the first one of a type.
    package func objects(upTo type: String) throws -> [[String: Any]] {
        var objects: [[String: Any]] = []
        repeat { objects.append(try object()) } while objects.last?["type"] as? String != type
        return objects
    }

    /// Skips output lines up to a given line.
    ///
    /// Returns whether it appeared.
    package func shows(_ line: String) -> Bool {
        while let next = self.line() {
            if next == line { return true }
        }
        return false
    }

    private struct UnexpectedOutput: Error, CustomStringConvertible {
        let description: String
    }
}
