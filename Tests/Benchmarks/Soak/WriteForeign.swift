import ArgumentParser
import DefaultsCore
import Foundation
import Glibc
import PropertyList

/// The foreign writer's process: for each number in its input, it sets all its keys to that number, one write per key.
///
/// It prints `KEY NUMBER` when a write is complete, and `done` after the last. For the input "half", it leaves the file
/// half-written.
struct WriteForeign: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "write-foreign", shouldDisplay: false)

    @Argument var kind: SoakKind
    @Argument var path: String
    @Argument var keys: Int

    func run() throws {
        var turn = 0
        let suite = URL(fileURLWithPath: path).deletingPathExtension().lastPathComponent
        let foundation = kind == .foundation ? UserDefaults(suiteName: suite) : nil
        while let line = readLine() {
            guard let number = Int64(line) else {
                try ForeignFile(path: path).breakOff()
                ChildLines.say("half")
                continue
            }
            for key in 0..<keys {
                if let foundation {
                    foundation.set(Int(number), forKey: "f\(key)")
                    guard foundation.synchronize() else { throw ExitCode(74) }
                } else {
                    try write(key, number, turn)
                }
                turn += 1
                ChildLines.say("\(key) \(number)")
            }
            ChildLines.say("done")
        }
    }

    private func write(_ key: Int, _ number: Int64, _ turn: Int) throws {
        let file = ForeignFile(path: path)
        if kind == .restarted {
            return try file.rewrite(
                "f\(key)", to: .integer(number), isInPlace: turn.isMultiple(of: 2), pause: .random(in: 0...2_500_000)
            ) { ChildLines.say("read") }
        }
        var values = file.read()
        // Other writers finish soon; a file left half-written by a killed writer is repaired by the next edit.
        while values == nil { values = file.read() }
        values?["f\(key)"] = .integer(number)
        switch kind {
        case .rename, .killed: try file.replace(with: values ?? [:])
        case .truncate: try file.overwrite(with: values ?? [:])
        case .slow: try file.overwrite(with: values ?? [:], pause: UInt32.random(in: 1...5_000))
        case .patch:
            // Sometimes pause long enough for the agent to read the intermediate state.
            let pause = UInt32.random(in: 0..<50) == 0 ? 400_000 : UInt32.random(in: 1...5_000)
            try file.patch(with: values ?? [:], pause: pause)
        default:
            if turn.isMultiple(of: 2) {
                try file.replace(with: values ?? [:])
            } else {
                try file.overwrite(with: values ?? [:])
            }
        }
    }
}
