import DefaultsCore
import PropertyList
import TestSupport

extension FileReading {
    /// The case's name.
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

extension Publication {
    /// Whether the new version is in place.
    var isDone: Bool {
        if case .done = self { true } else { false }
    }
}

extension Domain {
    /// A domain for any host, by a name that is known to be right.
    init(_ name: StaticString) throws {
        self.init(try DomainName("\(name)"))
    }
}

extension DomainValues {
    /// What a file holds.
    static func read(_ path: String) throws -> DomainValues {
        guard case .dictionary(let values) = try PropertyListValue(parsing: RawFile.read(path)) else { return [:] }
        return values
    }
}

extension Writer {
    /// An app, for tests that need one.
    static let testApp = Writer.app(AppIdentity(pid: 7, executable: "/bin/app"))
}
