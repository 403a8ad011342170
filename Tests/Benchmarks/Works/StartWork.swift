import DefaultsClient
import DefaultsKit
import Foundation
import Glibc

/// The time until a new agent answers, with few files and with many, and its memory when idle.
struct StartWork {
    private let place: BenchEnvironment

    init(_ place: BenchEnvironment) { self.place = place }

    func works(isQuick: Bool) throws -> [Work] {
        try (isQuick ? [10, 1_000] : [10, 1_000, 10_000]).flatMap { files in
            var environment = place.environment
            environment["DEFAULTS_DIRECTORY"] = try DomainFiles.make(files, at: place)
            let variables = environment
            return [
                Work(
                    name: "an agent starts, \(files) files", unit: .milliseconds, rounds: isQuick ? 3 : 10,
                    contenders: [
                        .ours { { [try start(variables).seconds] } },
                        .limit("100 ms", goal: 1) { { [0.1] } },
                        .limit("open, read and close each") { { [try readAll(in: variables)] } },
                    ] + (files == 10 ? services(\.seconds) : [])),
                Work(
                    name: "an agent's memory at rest, \(files) files", unit: .megabytes, rounds: 3,
                    contenders: [
                        .ours { { [try start(variables).bytes] } },
                        .limit("25 MB", goal: 1) { { [25e6] } },
                    ] + (files == 10 ? services(\.bytes) : [])),
            ]
        }
    }

    private typealias Start = (seconds: Double, bytes: Double)

    /// Returns other preferences services, each started by the bus and measured until it owns its name there.
    ///
    /// The services find the data that earlier topics have left in their directories.
    private func services(_ figure: @escaping (Start) -> Double) -> [Contender] {
        [("dconf-service", "ca.desrt.dconf"), ("xfconfd", "org.xfce.Xfconf")].map { program, name in
            .peer(program, package: program == "xfconfd" ? "xfconf" : program) {
                guard try place.startBus() else { return nil }
                let bus = try DBus(path: place.busPath)
                try bus.start(name)
                guard try bus.process(of: name) != nil else { return nil }
                return { [figure(try restart(name, on: bus))] }
            }
        }
    }

    private func restart(_ service: String, on bus: DBus) throws -> Start {
        while let process = try bus.process(of: service) {
            kill(process, SIGKILL)
            usleep(1_000)
        }
        let begin = Stopwatch.now
        try bus.start(service)
        let seconds = Stopwatch.now - begin
        guard let process = try bus.process(of: service) else { throw BenchFailure("\(service) has exited.") }
        return (seconds, try memory(of: process))
    }

    private func start(_ environment: [String: String]) throws -> Start {
        let agent = try AgentChild(environment: environment)
        defer { agent.kill() }
        _ = try AgentChild.connect(environment).barrier()
        return (agent.timeToAnswer, try memory(of: agent.pid))
    }

    /// Returns the time to read every file without processing it.
    private func readAll(in environment: [String: String]) throws -> Double {
        let directory = environment["DEFAULTS_DIRECTORY"] ?? ""
        let begin = Stopwatch.now
        guard let stream = opendir(directory) else { throw BenchFailure("Can't list \(directory).") }
        defer { closedir(stream) }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)
        defer { buffer.deallocate() }
        while let entry = readdir(stream) {
            let descriptor = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { openat(dirfd(stream), $0, O_RDONLY) }
            }
            _ = read(descriptor, buffer.baseAddress, buffer.count)
            close(descriptor)
        }
        return Stopwatch.now - begin
    }

    /// Returns the bytes of a process's resident memory, including shared libraries.
    private func memory(of process: pid_t) throws -> Double {
        let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        let kilobytes =
            status.components(separatedBy: "VmRSS:").last?.split(separator: " ").lazy
            .compactMap { Double($0.trimmingCharacters(in: .whitespaces)) }.first ?? 0
        return kilobytes * 1024
    }
}
