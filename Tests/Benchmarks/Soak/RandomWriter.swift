import DefaultsKit
import Foundation

/// A thread of a process of `random` that edits keys of its own.
struct RandomWriter {
    private let defaults: Defaults
    private let keys: [String]
    private var model: [String: Int] = [:]
    private var edits = 0
    /// The last acts of each key, with their times, for messages.
    private var acts: [String: [String]] = [:]

    init(_ defaults: Defaults, prefix: String) {
        self.defaults = defaults
        keys = (0..<6).map { "\(prefix).\($0)" }
    }

    /// Makes a random edit, and compares the keys with the model.
    mutating func act() {
        // A transaction that reads the key that it sets may increment it twice if the agent is killed.
        let names = keys.shuffled()
        let (name, other) = (names[0], names[1])
        let key = DefaultsKey(name, default: 0)
        let number = Int.random(in: 1...1_000)
        switch Int.random(in: 0..<60) {
        case 0: _ = defaults.synchronize()
        case 1..<10:
            defaults.removeObject(forKey: name)
            model[name] = nil
            note("remove", of: name)
        case 10..<20:
            defaults[key] += number
            model[name, default: 0] += number
            note("+= \(number)", of: name)
        case 20..<25:
            defaults.withTransaction { values in
                values[key] = number
                values.removeObject(forKey: other)
            }
            (model[name], model[other]) = (number, nil)
            note("transaction, set \(number)", of: name)
            note("transaction, remove", of: other)
        case 25..<27:
            defaults.withTransaction { values in values[DefaultsKey(other, default: 0)] = values[key] + number }
            model[other] = model[name, default: 0] + number
            note("reading transaction, \(name) + \(number)", of: other)
        case 27..<30:
            do {
                note("update begins", of: name)
                try defaults.update(key) { $0 += number }
                model[name, default: 0] += number
                note("update by \(number)", of: name)
            } catch {
                note("update by \(number) fails: \(error)", of: name)
                // It may have been made nevertheless.
                defaults[key] = number
                model[name] = number
            }
        default:
            defaults.set(number, forKey: name)
            model[name] = number
            note("set \(number)", of: name)
        }
        edits += 1
        for name in [name, other] where stored(name) != model[name] {
            RandomApp.fault(
                "\(name) is \(stored(name) as Any) instead of \(model[name] as Any). Its last acts: "
                    + "\(acts[name, default: []].joined(separator: "; ")).")
        }
        // Leave time to the other processes: the agent is slower than this loop.
        Thread.sleep(forTimeInterval: .random(in: 0..<0.001))
    }

    private mutating func note(_ act: String, of key: String) {
        acts[key, default: []].append("\(Date.now.timeIntervalSince1970) \(act)")
        if acts[key, default: []].count > 8 { acts[key]?.removeFirst() }
    }

    /// Waits until all edits are saved, and prints the values.
    func finish() {
        let end = Date.now + 60
        while !defaults.synchronize() {
            if Date.now > end { return RandomApp.fault("Edits can't be saved.") }
        }
        ChildLines.say("edited \(edits)")
        for name in keys { ChildLines.say("value \(name) \(model[name].map { "\($0)" } ?? "none")") }
    }

    private func stored(_ name: String) -> Int? { defaults.object(forKey: name) as? Int }
}
