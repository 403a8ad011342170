import DefaultsFoundation
import Foundation
import PropertyList

import class DefaultsKit.UserDefaults

/// DefaultsKit's UserDefaults in code written for Foundation's, with no line added for notifications.
enum NotifiedApp {
    static func start(calls: [String]) {
        let suite = UserDefaults(suiteName: "org.example.suite")
        let suiteIdentity = suite.map(ObjectIdentifier.init)
        _ = NotificationCenter.default.addObserver(
            forName: UserDefaults.didChangeNotification, object: nil, queue: nil
        ) { notification in
            guard let defaults = notification.object as? UserDefaults else { return }
            let domain = notification.userInfo?[UserDefaults.changedDomainKey] as? String
            let keys = notification.userInfo?[UserDefaults.changedKeysKey] as? [String] ?? ["k"]
            if keys == ["count"] { return }
            let who =
                switch ObjectIdentifier(defaults) {
                case ObjectIdentifier(UserDefaults.standard): "standard"
                case suiteIdentity: "suite"
                default: "another"
                }
            let texts = keys.sorted().map { "\($0)=\(defaults.string(forKey: $0) ?? "none")" }
            FoundationApp.print(
                "\(who) \(domain ?? "?"): \(texts.joined(separator: " "))\(Thread.isMainThread ? ", here" : "")")
            // An observer may set values, and is notified of its own change.
            if keys == ["again"], defaults.integer(forKey: "again") > 0 { defaults.removeObject(forKey: "again") }
        }
        FoundationApp.print("ready")
        let defaults = UserDefaults.standard
        for call in calls {
            let words = call.split(separator: " ").map(String.init)
            switch words.first {
            case "set": defaults.set(words[2], forKey: words[1])
            case "count": for number in 0..<(Int(words[1]) ?? 0) { defaults.set(number, forKey: "count") }
            case "remove": defaults.removeObject(forKey: words[1])
            case "register": defaults.register(defaults: [words[1]: words[2]])
            case "suite": suite?.set(words[2], forKey: words[1])
            case "replace":
                defaults.setPersistentDomain(["a": "1", "b": "2"], forName: UserDefaults.applicationIdentifier)
            case "transaction":
                defaults.withTransaction { values in
                    values.set("3", forKey: "a")
                    values.set("4", forKey: "b")
                }
            default: exit(64)
            }
        }
        FoundationApp.print("done")
    }
}
