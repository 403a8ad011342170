import Glibc
import Linux
import PropertyList

/// The agent's settings, which are the domain `org.defaultsd.agent`; `Config/org.defaultsd.agent.plist` explains each.
package struct AgentSettings: Hashable, Sendable {
    /// The agent's own domain.
    package static let domainName = "org.defaultsd.agent"

    /// `LogLevel`: trace, debug, info, notice, warning, error or critical.
    package var logLevel = "notice"
    /// `PublishDelay`, milliseconds: edits are published together this long after the last one.
    package var publishDelay = 10
    /// `PublishLimit`, milliseconds: and this long after the first one at the latest.
    package var publishLimit = 1_000
    /// `HoldDelay`, milliseconds: a file that is gone or doesn't parse is believed after this long.
    package var holdDelay = 250
    /// `LogRecords`: so many change sets are kept for subscribers that come back.
    package var logRecords = 65_536
    /// `LogBytes`: or so many bytes of them.
    package var logBytes = 16 << 20
    /// `MaximumFileSize`, bytes: a larger file counts as damaged.
    package var maximumFileSize = 64 << 20
    /// `MaximumConnections`: one more is refused.
    package var maximumConnections = 4_096
    /// `MaximumSubscriptions`, of one connection: one more is refused.
    package var maximumSubscriptions = 256

    package init() {}

    /// Reads settings; what is wrong keeps its default, and is told in `problems`, a sentence each.
    package init(_ values: DomainValues, problems: inout [String]) {
        for (key, value) in values.sorted(by: { $0.key < $1.key }) {
            switch (key, value) {
            case ("LogLevel", .string(let level)) where Self.logLevels.contains(level): logLevel = level
            case ("LogLevel", _):
                problems.append("LogLevel must be one of \(Self.logLevels.joined(separator: ", ")).")
            case ("Directory", .string(let path)) where Path.isAbsolute(path) || path.utf8.starts(with: "~/".utf8):
                break
            case ("Directory", _):
                problems.append("Directory must be a string that begins with \"/\" or \"~/\".")
            default:
                guard let (path, range) = Self.numbers[key] else {
                    problems.append("\(key) is no setting of the agent.")
                    continue
                }
                if case .integer(let number) = value, range.contains(Int(number)) {
                    self[keyPath: path] = Int(number)
                } else {
                    problems.append("\(key) must be an integer from \(range.lowerBound) to \(range.upperBound).")
                }
            }
        }
    }

    private static let logLevels = ["trace", "debug", "info", "notice", "warning", "error", "critical"]

    private static var numbers: [String: (WritableKeyPath<AgentSettings, Int>, ClosedRange<Int>)] {
        [
            "PublishDelay": (\.publishDelay, 0...60_000),
            "PublishLimit": (\.publishLimit, 0...60_000),
            "HoldDelay": (\.holdDelay, 0...60_000),
            "LogRecords": (\.logRecords, 1...10_000_000),
            "LogBytes": (\.logBytes, 1_024...(1 << 32)),
            "MaximumFileSize": (\.maximumFileSize, 1_024...(1 << 30)),
            "MaximumConnections": (\.maximumConnections, 1...100_000),
            "MaximumSubscriptions": (\.maximumSubscriptions, 1...100_000),
        ]
    }

    /// How much of the change log is kept.
    package var logCapacity: ChangeLog.Capacity { ChangeLog.Capacity(records: logRecords, bytes: logBytes) }

    /// Reads the settings from the agent's own domain; what is wrong keeps its default and is told.
    package static func read(from directory: PreferencesDirectory) -> (settings: AgentSettings, problems: [String]) {
        var problems: [String] = []
        let values: DomainValues
        switch domain.map({ DomainFile(path: directory.path(of: $0)).read(known: nil) }) {
        case .contents(let contents)?: values = contents.values
        case .unusable(let damage)?:
            problems.append(damage.error.description)
            values = [:]
        case nil, .missing?, .unchanged?, .beingWritten?: values = [:]
        }
        return (AgentSettings(values, problems: &problems), problems)
    }

    /// The agent's own domain.
    package static let domain = try? Domain(DomainName(domainName))

    /// The directory that the settings in the usual place name instead of it.
    enum Redirection {
        case to(String)
        /// None; or what is wrong with the settings, which name none.
        case none(DefaultsError?)
    }

    /// Reads which directory the key `Directory` names in the usual place.
    ///
    /// - Throws: When that can't be told. To go on in the usual directory then would be to read and write beside the one
    ///   that is meant.
    static func redirection(of standard: String, home: String?) throws(DefaultsError) -> Redirection {
        guard let domain else { return .none(nil) }
        let directory = PreferencesDirectory(path: standard)
        let path = directory.path(of: domain)
        let remedy =
            "It may name the preferences directory: mend it, or name the directory with DEFAULTS_DIRECTORY or --directory."
        switch readInsisting(DomainFile(path: path)) {
        case .missing, .unchanged: return .none(nil)
        // No directory is there, or it can't be looked into; whoever uses it tells so.
        case .unusable(let damage) where damage.error.errno == ENOTDIR: return .none(nil)
        case .unusable(let damage) where damage.error.errno == EACCES && !directory.isUsable: return .none(nil)
        case .unusable(let damage):
            if damage.error.code == .damaged, !mayRedirect(path) {
                return .none(
                    DefaultsError(
                        .damaged, "\(damage.error) The agent's settings keep their defaults until it is mended."))
            }
            throw DefaultsError(damage.error.code, "\(damage.error) \(remedy)", errno: damage.error.errno)
        case .beingWritten:
            throw DefaultsError(
                .unreadable,
                "\(path) is being written by another program, which `lsof \(path)` names. It may name the preferences "
                    + "directory: try again, or name the directory with --directory.")
        case .contents(let contents):
            guard let value = contents.values["Directory"] else { return .none(nil) }
            if case .string(let text) = value {
                if Path.isAbsolute(text) { return .to(text) }
                if text.utf8.starts(with: "~/".utf8), let home {
                    return .to(home + String(Substring(text.utf8.dropFirst())))
                }
            }
            return .none(
                DefaultsError(
                    .directory,
                    "\(path): Directory must be a string that begins with \"/\" or \"~/\". Preferences are in \(standard)."
                ))
        }
    }

    /// Whether a file that is no property list may have had the key `Directory`, outside of XML's comments.
    private static func mayRedirect(_ path: String) -> Bool {
        guard let file = try? FileDescriptor(opening: path, O_RDONLY | O_NONBLOCK), let status = try? file.status(),
            status.st_size <= DomainFile.standardLimits.bytes,
            let bytes = try? file.read(upTo: Int(status.st_size))
        else { return true }
        // UTF-16 has the letters, too, with NULs between them.
        var rest = bytes.filter { $0 != 0 }[...]
        while let start = rest.start(of: "<!--") {
            if rest[..<start].start(of: "Directory") != nil { return true }
            guard let end = rest[start...].start(of: "-->") else { break }
            rest = rest[end...]
        }
        return rest.start(of: "Directory") != nil
    }

    /// Reads a file; one that is being written is waited for, half a second at most.
    private static func readInsisting(_ file: DomainFile) -> FileReading {
        for _ in 0..<25 {
            let reading = file.read(known: nil)
            guard case .beingWritten = reading else { return reading }
            poll(nil, 0, 20)
        }
        return file.read(known: nil, patience: .insist)
    }
}

extension ArraySlice<UInt8> {
    /// The place at which a text begins; `nil` when it isn't there.
    fileprivate func start(of text: StaticString) -> Int? {
        let count = text.utf8CodeUnitCount
        guard self.count >= count else { return nil }
        return withUnsafeBufferPointer { bytes in
            guard let start = bytes.baseAddress else { return nil }
            return (0...(bytes.count - count)).first { memcmp(start + $0, text.utf8Start, count) == 0 }
                .map { startIndex + $0 }
        }
    }
}
