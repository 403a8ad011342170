import Glibc

/// Creates an empty directory with a short path below `/tmp`, runs a test in it, and removes it with its contents.
///
/// The path is short because a socket's path has at most 107 bytes.
package func withTemporaryDirectory<Value>(
    in place: String = "/tmp", _ body: (String) throws -> Value
) throws -> Value {
    let path = try makeTemporaryDirectory(in: place)
    defer { removeTree(path) }
    return try body(path)
}

/// The failure of a system call that a test needs.
package struct TestSystemError: Error, CustomStringConvertible {
    package let description: String

    package init(_ what: String) {
        description = "\(what): \(String(cString: strerror(errno)))"
    }
}

/// Creates an empty directory with a short path below `/tmp`.
///
/// The caller removes it with `removeTree`.
package func makeTemporaryDirectory(in place: String = "/tmp") throws -> String {
    var template = Array("\(place)/dt-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw TestSystemError("mkdtemp") }
    return template.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
}

/// Removes a file, or a directory with its contents.
///
/// Symbolic links are removed, not followed.
package func removeTree(_ path: String) {
    var status = stat()
    guard lstat(path, &status) == 0 else { return }
    guard status.st_mode & S_IFMT == S_IFDIR else {
        unlink(path)
        return
    }
    chmod(path, 0o700)
    for name in namesOfFiles(in: path) { removeTree("\(path)/\(name)") }
    rmdir(path)
}

/// Returns the sorted names in a directory, or an empty array if the directory can't be read.
package func namesOfFiles(in path: String) -> [String] {
    guard let stream = opendir(path) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
        let name = withUnsafePointer(to: &entry.pointee.d_name) {
            $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
        if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted()
}
