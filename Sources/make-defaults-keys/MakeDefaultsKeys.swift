import Manifests
import PropertyList

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// The tool of the build plugin: it writes the typed keys of a manifest as Swift source.
///
/// `make-defaults-keys MANIFEST OUTPUT [OTHER ...]`, with the paths of the target's other manifests. It has no
/// dependencies, so that an app that uses the plugin builds nothing else.
@main
enum MakeDefaultsKeys {
    static func main() {
        guard CommandLine.arguments.count >= 3 else { fail("usage: make-defaults-keys MANIFEST OUTPUT [OTHER ...]") }
        let (input, output) = (CommandLine.arguments[1], CommandLine.arguments[2])
        do throws(PropertyListError) {
            let value = try PropertyListValue(parsing: read(input))
            let (manifest, mistakes) = Manifest.read(value)
            // The form in which a build shows messages beside the file.
            for mistake in mistakes { report("\(input): warning: \(mistake)") }
            guard let manifest else { fail("\(input): error: not a manifest") }
            let domain = domain(of: manifest, at: input)
            let others = CommandLine.arguments.dropFirst(3).map { path in
                // A manifest that can't be read fails its own run.
                let other = (try? PropertyListValue(parsing: read(path))).flatMap { Manifest.read($0).manifest }
                let name = self.domain(of: other, at: path)
                if name == domain { fail("\(input): error: \(path) describes the domain \(domain), too") }
                return name
            }
            store(SwiftKeys(manifest, of: domain, beside: others).source(), at: output)
        } catch {
            fail("\(input): error: \(error)")
        }
    }

    /// Returns the domain that a manifest is about, which its file is named for unless it says so.
    private static func domain(of manifest: Manifest?, at path: String) -> String {
        manifest?.domain ?? path.split(separator: "/").last.map { String($0.dropLast(6)) } ?? ""
    }

    private static func read(_ path: String) -> [UInt8] {
        guard let file = fopen(path, "r") else { fail("\(path): error: \(String(cString: strerror(errno)))") }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 65_536)
        while case let count = fread(&part, 1, part.count, file), count > 0 { bytes += part[..<count] }
        guard ferror(file) == 0 else { fail("\(path): error: can't be read") }
        return bytes
    }

    private static func store(_ text: String, at path: String) {
        guard let file = fopen(path, "w") else { fail("\(path): error: \(String(cString: strerror(errno)))") }
        let bytes = Array(text.utf8)
        guard fwrite(bytes, 1, bytes.count, file) == bytes.count, fclose(file) == 0 else {
            fail("\(path): error: can't be written")
        }
    }

    private static func report(_ message: String) {
        let line = Array("\(message)\n".utf8)
        _ = write(STDERR_FILENO, line, line.count)
    }

    private static func fail(_ message: String) -> Never {
        report(message)
        exit(1)
    }
}
