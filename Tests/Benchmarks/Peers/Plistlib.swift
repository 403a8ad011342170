import Foundation

/// Python's plistlib, which measures its own time.
enum Plistlib {
    private static let script = """
        import os, plistlib, sys, time
        data = open(sys.argv[1], 'rb').read()
        os.unlink(sys.argv[1])
        value = plistlib.loads(data)
        work = {
            'loads': lambda: plistlib.loads(data), 'dumps': lambda: plistlib.dumps(value),
            'dumps_binary': lambda: plistlib.dumps(value, fmt=plistlib.FMT_BINARY)}[sys.argv[2]]
        while sys.stdin.readline():
            start = time.perf_counter()
            for _ in range(int(sys.argv[3])): work()
            print((time.perf_counter() - start) / int(sys.argv[3]), flush=True)
        """

    static func round(_ work: String, _ bytes: [UInt8], _ count: Int) throws -> Contender.Round? {
        guard let python = BenchEnvironment.program("python3") else { return nil }
        let file = FileManager.default.temporaryDirectory.appending(path: "defaults-bench-\(UUID().uuidString).plist")
        try Data(bytes).write(to: file)
        let process = try ChildLines(at: python, ["-c", script, file.path, work, "\(count)"])
        return {
            try process.send("")
            guard let seconds = process.line(within: 120_000).flatMap({ Double($0) }) else {
                throw BenchFailure("python3 doesn't answer.")
            }
            return [seconds]
        }
    }
}
