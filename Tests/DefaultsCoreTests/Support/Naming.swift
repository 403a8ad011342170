import DefaultsCore
import PropertyList
import TestSupport

extension FileReading {
    /// The name of the case.
    var kind: String {
        switch self {
        case .missing: "missing"
        case .unchanged: "unchanged"
        case .contents: "contents"
        case .beingWritten: "beingWritten"
        case .unusable: "unusable"
        }
    }
}

extension SaveResult {
    /// Whether the new version is in place.
    var isDone: Bool {
        if case .saved = self { true } else { false }
    }
}

extension Domain {
    /// Creates a domain for any host from a name that is known to be valid.
    init(_ name: StaticString) throws {
        self.init(try DomainName("\(name)"))
    }
}

extension DomainValues {
    /// Returns the values in a file.
    static func read(_ path: String) throws -> DomainValues {
        guard case .dictionary(let values) = try PropertyListValue(parsing: RawFile.read(path)) else { return [:] }
        return values
    }
}

extension Writer {
    /// An app, for tests that need a writer.
    static let testApp = Writer.app(AppIdentity(pid: 7, executable: "/bin/app"))
}
