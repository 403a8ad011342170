import Foundation
import Glibc
import ProgramSupport
import TestSupport
import Testing

/// A package that depends on this one by its path, built as a user would build it.
@Suite("The example app")
struct ExampleTests {
    private static let root = Repository.path
    private static let package = "\(root)/Tests/LiveApp"
    private static let scratch = "\(root)/.build-example"

    /// Waits until a program prints a line, and returns whether it did.
    private func shows(_ line: String, _ program: RunningProgram) -> Bool {
        while let next = program.line() {
            if next == line { return true }
        }
        return false
    }

    @Test("The example app shows another process's changes by updates, Observation and Foundation's class")
    func threeWays() throws {
        // SwiftPM's plan of an earlier build misses files that were added since to a package it depends on by path.
        for plan in ["debug.yaml", "debug/description.json", "workspace-state.json"] {
            unlink("\(Self.scratch)/\(plan)")
        }
        let build = try Programs.run(
            "/usr/bin/env", ["swift", "build", "--package-path", Self.package, "--scratch-path", Self.scratch])
        try #require(build.status == 0, "\(build.output)\(build.errors)")
        // An app that depends on the libraries fetches no others.
        #expect(namesOfFiles(in: Self.scratch + "/checkouts") == [])
        let app = "\(Self.scratch)/debug/LiveApp"
        try AgentProcess.withAgent { agent in
            let environment = agent.place.environment
            let followers = try ["updates", "observation", "foundation"].map {
                try RunningProgram(app, [$0], environment: environment)
            }
            for follower in followers {
                #expect(shows("message: (none)", follower))
            }
            for message in ["hello", "world"] {
                let outcome = try Programs.run(app, ["set", message], environment: environment)
                #expect(outcome.status == 0 && outcome.errors == "")
                for follower in followers {
                    #expect(shows("message: \(message)", follower))
                }
            }
        }
    }
}
