import DefaultsCore
import Foundation
import TestSupport

/// The programs that are built together with the tests.
package enum Programs {
    /// The directory of the programs: the one that contains the test bundle.
    package static let directory =
        URL(fileURLWithPath: AppIdentity.current.executable).deletingLastPathComponent().path

    package static let defaults = "\(directory)/defaults"
    package static let defaultsd = "\(directory)/defaultsd"
    package static let readmeExample = "\(directory)/ReadmeExample"
    package static let forker = "\(directory)/Forker"
    package static let leaver = "\(directory)/Leaver"
    package static let liveWriter = "\(directory)/LiveWriter"
    package static let preferencesWindow = "\(directory)/PreferencesWindow"
    package static let foundationApp = "\(directory)/FoundationApp"
    package static let foundationWriter = "\(directory)/FoundationWriter"

    // Programs of other projects, if they are installed.
    package static let gnustepDefaults = "/usr/bin/defaults"
    package static let plmerge = "/usr/bin/plmerge"
    package static let plparse = "/usr/bin/plparse"
    package static let plistutil = "/usr/bin/plistutil"

    /// The exit status and output of a program.
    package struct Outcome {
        package var status: Int32
        package var output: String
        package var errors: String
    }

    /// Runs a program to completion.
    @discardableResult
    package static func run(
        _ program: String, _ arguments: [String], environment: [String: String] = [:], input: String = ""
    ) throws -> Outcome {
        let process = Process()
        let (standardInput, output, errors) = (Pipe(), Pipe(), Pipe())
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardInput = standardInput
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        try standardInput.fileHandleForWriting.write(contentsOf: Data(input.utf8))
        try standardInput.fileHandleForWriting.close()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        let complaints = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        let status =
            process.terminationReason == .exit ? process.terminationStatus : 128 + process.terminationStatus
        return Outcome(status: status, output: text, errors: complaints)
    }

    /// Runs a shell script in a directory, with the system's tools.
    @discardableResult
    package static func shell(
        _ script: String, in directory: String, environment: [String: String] = [:]
    ) throws -> Outcome {
        try run("/bin/sh", ["-ec", "cd '\(directory)'\n\(script)"], environment: environment)
    }
}
