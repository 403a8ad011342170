import DefaultsKit
import Dispatch
import Glibc
import PropertyList

let controller = UserDefaultsController(initialValues: ["name": "Factory", "quality": 0.8, "sounds": true])
let window = PreferencesWindow(controller) { line in
    print(line)
    fflush(nil)
}
window.follow()

// Reading waits, so it has a thread of its own.
let (commands, command) = AsyncStream.makeStream(of: String.self)
DispatchQueue.global().async {
    while let line = readLine() { command.yield(line) }
    command.finish()
}
for await command in commands {
    if !window.perform(command) { break }
}
