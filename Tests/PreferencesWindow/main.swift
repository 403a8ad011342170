import DefaultsBindings
import DefaultsKit
import Dispatch
import Glibc
import PropertyList

let controller = UserDefaultsController(initialValues: ["name": "Factory", "quality": 0.8, "sounds": true])
let window = PreferencesWindow(controller) { line in
    // `print` would buffer the line if the output is a pipe, and `fflush(nil)` blocks on a reader.
    let bytes = Array("\(line)\n".utf8)
    _ = write(STDOUT_FILENO, bytes, bytes.count)
}
window.follow()

// Reading blocks, so it has its own thread.
let (commands, command) = AsyncStream.makeStream(of: String.self)
DispatchQueue.global().async {
    while let line = readLine() { command.yield(line) }
    command.finish()
}
for await command in commands {
    if !window.perform(command) { break }
}
