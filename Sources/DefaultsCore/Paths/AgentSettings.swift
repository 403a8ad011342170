import Glibc
import Linux
import PropertyList

/// The limits of the archive of older change sets.
package struct HistoryLimits: Hashable, Sendable {
    /// The number of days for which every change is kept.
    package var days = 30
    /// The number of changes to each key that are kept beyond these days.
    package var changes = 100
    /// The maximum size of all records, in bytes.
    package var bytes = 16 << 20

    package init() {}
}

/// The agent's settings, from the domain `org.defaultsd.agent`.
///
/// `Config/org.defaultsd.agent.plist` explains each of them.
package struct AgentSettings: Hashable, Sendable {
    /// The name of the agent's own domain.
    package static let domainName = "org.defaultsd.agent"

    /// `LogLevel`: trace, debug, info, notice, warning, error or critical.
    package var logLevel = "notice"
    /// `SaveDelay`, in milliseconds: edits are saved together this long after the last one.
    package var saveDelay = 10
    /// `SaveLimit`, in milliseconds: edits are saved no later than this after the first one.
    package var saveLimit = 1_000
    /// `HoldDelay`, in milliseconds: a file that is missing or doesn't parse for this long counts as lost.
    package var holdDelay = 250
    /// `LogRecords`: the maximum number of change sets retained for subscribers that are slow or reconnect.
    package var logRecords = 65_536
    /// `LogBytes`, in bytes: the maximum size of these change sets.
    package var logBytes = 16 << 20
    /// `HistoryDays`, `HistoryChanges` and `HistoryBytes`: what the archive of older change sets keeps.
    package var history = HistoryLimits()
    /// `HistoryExcludes`: patterns of keys whose values never get into the change log file or the archive.
    package var historyExclusions = HistoryExclusions()
    /// `MaximumFileSize`, in bytes: a larger file counts as damaged.
    package var maximumFileSize = 64 << 20
    /// `MaximumConnections`: further connections are refused.
    package var maximumConnections = 4_096
    /// `MaximumSubscriptions`, per connection: further subscriptions are refused.
    package var maximumSubscriptions = 256

    /// A problem with the settings.
    package struct Problem: Hashable, Sendable, CustomStringConvertible {
        /// The setting; `nil` if it concerns the whole file.
        package var key: String?
        /// A complete sentence.
        package var description: String
    }

    package init() {}

    /// Reads settings from values; an invalid setting keeps its default, and is reported in `problems`.
    package init(_ values: DomainValues, problems: inout [Problem]) {
        for (key, value) in values.sorted(by: { $0.key < $1.key }) {
            func report(_ sentence: String) { problems.append(Problem(key: key, description: sentence)) }
            switch (key, value) {
            case ("LogLevel", .string(let level)) where Self.logLevels.contains(level): logLevel = level
            case ("LogLevel", _):
                report("LogLevel must be one of \(Self.logLevels.joined(separator: ", ")).")
            case ("Directory", .string(let path)) where Path.isAbsolute(path) || path.utf8.starts(with: "~/".utf8):
                break
            case ("Directory", _):
                report("Directory must be a string that begins with \"/\" or \"~/\".")
            case ("HistoryExcludes", let value):
                let entries = value.elements
                let patterns = (entries ?? []).compactMap(\.text).filter { !$0.isEmpty }
                // An invalid pattern must not let the secrets of the valid ones into the history.
                historyExclusions = patterns.isEmpty && entries != [] ? .unknown : HistoryExclusions(patterns)
                if patterns.count != entries?.count {
                    report("HistoryExcludes must be an array of patterns: \"domain\" or \"domain/key\".")
                }
                for pattern in patterns.filter(HistoryExclusions.isLikelyKey) {
                    report(
                        "In HistoryExcludes, \"\(pattern)\" names a domain. For a key in any domain, write "
                            + "\"*/\(pattern)\"; for all keys of that domain, write \"\(pattern)/*\".")
                }
            default:
                guard let (path, range) = Self.numbers[key] else {
                    report("\(key) isn't a setting of the agent.")
                    continue
                }
                if case .integer(let number) = value, range.contains(Int(number)) {
                    self[keyPath: path] = Int(number)
                } else {
                    report("\(key) must be an integer from \(range.lowerBound) to \(range.upperBound).")
                }
            }
        }
    }

    private static let logLevels = ["trace", "debug", "info", "notice", "warning", "error", "critical"]

    private static var numbers: [String: (WritableKeyPath<AgentSettings, Int>, ClosedRange<Int>)] {
        [
            "SaveDelay": (\.saveDelay, 0...60_000),
            "SaveLimit": (\.saveLimit, 0...60_000),
            "HoldDelay": (\.holdDelay, 0...60_000),
            "LogRecords": (\.logRecords, 1...10_000_000),
            "LogBytes": (\.logBytes, 1_024...(1 << 32)),
            "HistoryDays": (\.history.days, 0...36_500),
            "HistoryChanges": (\.history.changes, 1...1_000_000),
            "HistoryBytes": (\.history.bytes, 1_024...(1 << 32)),
            "MaximumFileSize": (\.maximumFileSize, 1_024...(1 << 30)),
            "MaximumConnections": (\.maximumConnections, 1...100_000),
            "MaximumSubscriptions": (\.maximumSubscriptions, 1...100_000),
        ]
    }

    /// The maximum size of the change log.
    package var logCapacity: ChangeLog.Capacity { ChangeLog.Capacity(records: logRecords, bytes: logBytes) }

    /// Reads the settings from the agent's own domain; an invalid setting keeps its default and is reported.
    ///
    /// If the file can't be read, the exclusions are unknown.
    package static func read(from directory: PreferencesDirectory) -> (settings: AgentSettings, problems: [Problem]) {
        var problems: [Problem] = []
        var values: DomainValues = [:]
        var isRead = true
        switch domain.map({ DomainFile(path: directory.path(of: $0)).read(known: nil) }) {
        case .contents(let contents)?: values = contents.values
        case .unusable(let damage)?:
            problems.append(Problem(description: damage.error.description))
            isRead = false
        case .beingWritten?: isRead = false
        case nil, .missing?, .unchanged?: break
        }
        var settings = AgentSettings(values, problems: &problems)
        if !isRead { settings.historyExclusions = .unknown }
        return (settings, problems)
    }

    /// The agent's own domain.
    package static let domain = try? Domain(DomainName(domainName))

    /// The directory, if any, that the settings in the default directory name in its stead.
    enum Redirection {
        case to(String)
        /// No directory, with the problem if the settings are unusable.
        case none(DefaultsError?)
    }

    /// Reads the key `Directory` of the settings in the default directory.
    ///
    /// - Throws: The reason why the directory is unknown. A program that fell back to the default directory might read
    ///   and write the wrong files.
    static func redirection(of standard: String, home: String?) throws(DefaultsError) -> Redirection {
        guard let domain else { return .none(nil) }
        let directory = PreferencesDirectory(path: standard)
        let path = directory.path(of: domain)
        let remedy = "Repair it, or name the directory with DEFAULTS_DIRECTORY or --directory."
        switch readInsisting(DomainFile(path: path)) {
        case .missing, .unchanged: return .none(nil)
        // The default directory is missing or can't be read. Code that uses it reports this.
        case .unusable(let damage) where damage.error.errno == ENOTDIR: return .none(nil)
        case .unusable(let damage) where damage.error.errno == EACCES && !directory.isUsable: return .none(nil)
        case .unusable(let damage):
            if damage.error.code == .damaged, !mayRedirect(path) {
                return .none(
                    damage.error.adding("The agent's settings keep their defaults until the file is repaired."))
            }
            throw damage.error.adding("The file may name the preferences directory.", remedy: remedy)
        case .beingWritten:
            throw DefaultsError(
                .unreadable,
                "Another program is writing to \(path), which may name the preferences directory.",
                remedy: "Try again, or name the directory with --directory. To find the program, run `lsof \(path)`.")
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
                    "\(path): Directory must be a string that begins with \"/\" or \"~/\". Until it is corrected, "
                        + "the preferences directory is \(standard)."))
        }
    }

    /// Returns whether a file that isn't a property list contains "Directory" outside XML comments, and so may have had
    /// that key.
    private static func mayRedirect(_ path: String) -> Bool {
        guard let file = try? FileDescriptor(opening: path, O_RDONLY | O_NONBLOCK), let status = try? file.status(),
            status.st_size <= PropertyListLimits.domainFile.bytes,
            let bytes = try? file.read(upTo: Int(status.st_size))
        else { return true }
        // Dropping NULs turns UTF-16 text into ASCII.
        var rest = bytes.filter { $0 != 0 }[...]
        while let start = rest.start(of: "<!--") {
            if rest[..<start].start(of: "Directory") != nil { return true }
            guard let end = rest[start...].start(of: "-->") else { break }
            rest = rest[end...]
        }
        return rest.start(of: "Directory") != nil
    }

    /// Reads a file, after waiting up to half a second while it is being written.
    private static func readInsisting(_ file: DomainFile) -> FileReading {
        var backoff = Backoff(from: .milliseconds(20), to: .milliseconds(20), timeout: .milliseconds(500))
        repeat {
            let reading = file.read(known: nil)
            if !reading.isBeingWritten { return reading }
        } while backoff.wait()
        return file.read(known: nil, openWriters: .readAnyway)
    }
}

extension PropertyListValue {
    /// The text of a string; `nil` for other values.
    var text: String? { if case .string(let text) = self { text } else { nil } }
    /// The elements of an array; `nil` for other values.
    fileprivate var elements: [PropertyListValue]? { if case .array(let elements) = self { elements } else { nil } }
}

extension ArraySlice<UInt8> {
    /// Returns the index of the first occurrence of a text; `nil` if there is none.
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
