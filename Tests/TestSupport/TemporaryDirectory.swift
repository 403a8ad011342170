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
package func removeTree(_ path: String) { removeTree(Array(path.utf8CString)) }

/// Removes what is at a path of any bytes, which ends with a zero.
private func removeTree(_ path: [CChar]) {
    var status = stat()
    guard lstat(path, &status) == 0 else { return }
    guard status.st_mode & S_IFMT == S_IFDIR else {
        unlink(path)
        return
    }
    chmod(path, 0o700)
    for name in names(in: path) { removeTree(path.dropLast() + [CChar(UInt8(ascii: "/"))] + name) }
    rmdir(path)
}

/// Returns the sorted names in a directory, or an empty array if the directory can't be read.
package func namesOfFiles(in path: String) -> [String] {
    names(in: Array(path.utf8CString)).map { name in
        String(decoding: name.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }.sorted()
}

/// Returns the names in a directory, each of which ends with a zero.
private func names(in path: [CChar]) -> [[CChar]] {
    guard let stream = opendir(path) else { return [] }
    defer { closedir(stream) }
    var names: [[CChar]] = []
    while let entry = readdir(stream) {
        let name = withUnsafePointer(to: &entry.pointee.d_name) {
            $0.withMemoryRebound(to: CChar.self, capacity: 256) {
                Array(UnsafeBufferPointer(start: $0, count: strlen($0) + 1))
            }
        }
        if name != [46, 0], name != [46, 46, 0] { names.append(name) }
    }
    return names
}
