import Foundation
import ProgramSupport
import TestSupport
import Testing

/// The outcome of `defaults doctor --json`.
struct DoctorReport {
    let status: Int32
    let object: [String: Any]
    let text: String

    /// Runs the command in an environment.
    init(_ environment: [String: String], _ options: [String] = [], launcher: [String] = []) throws {
        let command = launcher + [Programs.defaults, "doctor", "--json"] + options
        let outcome = try Programs.run(command[0], Array(command[1...]), environment: environment)
        #expect(outcome.errors == "")
        let object = try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any]
        (status, text) = (outcome.status, outcome.output)
        self.object = try #require(object)
    }

    /// The first finding with each name, by name.
    var findings: [String: [String: String]] {
        let list = object["findings"] as? [[String: String]] ?? []
        return Dictionary(list.map { ($0["id"] ?? "", $0) }) { first, _ in first }
    }

    func severity(_ id: String) -> String? { findings[id]?["severity"] }
    func message(_ id: String) -> String { findings[id]?["message"] ?? "" }
    func remedy(_ id: String) -> String { findings[id]?["remedy"] ?? "" }
    func path(_ id: String) -> String? { findings[id]?["path"] }

    /// Returns an environment in which the command finds only our own programs.
    static func environment(_ place: AgentProcess.Place, _ others: [String: String] = [:]) -> [String: String] {
        place.environment.merging(["PATH": Programs.directory]) { $1 }.merging(others) { $1 }
    }

    /// The variables with which no socket is named, so that a missing agent isn't an error.
    static let withoutSocket = ["DEFAULTSD_SOCKET": ""]
}
