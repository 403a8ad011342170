#if Configuration
import Configuration
import DefaultsConfiguration
import Synchronization

import class DefaultsKit.UserDefaults

/// A server that greets as its configuration currently says.
final class GreetingServer: Sendable {
    private let config: ConfigReader
    private let greeting: Mutex<String>

    init(config: ConfigReader) {
        self.config = config.scoped(to: "server")
        greeting = Mutex(self.config.string(forKey: "greeting", default: "Hello"))
    }

    /// Answers a request with the current greeting, without waiting.
    func answer(_ name: String) -> String {
        "\(greeting.withLock { $0 }), \(name)!"
    }

    /// Follows the configuration until the task is canceled.
    func run() async throws {
        try await config.watchString(forKey: "greeting", default: "Hello") { updates in
            for await greeting in updates { self.greeting.withLock { $0 = greeting } }
        }
    }
}

struct Greeter {
    static func main() async throws {
        UserDefaults.applicationIdentifier = "org.example.greeter"
        let config = ConfigReader(providers: [EnvironmentVariablesProvider(), UserDefaultsProvider(.standard)])
        let server = GreetingServer(config: config)
        // Canceled when the last request is answered.
        async let _ = server.run()
        while let name = readLine() { print(server.answer(name)) }
    }
}
#endif
