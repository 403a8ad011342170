extension Domain {
    /// The directory below the preferences directory that holds what is for one host.
    package static let hostDirectory = "ByHost"

    private static let suffix = ".plist"
    private static let globalStem = ".GlobalPreferences"

    /// The file's name, relative to the preferences directory.
    package var fileName: String {
        let stem = name.isGlobal ? Self.globalStem : name.description
        return switch host {
        case .any: stem + Self.suffix
        case .only(let identifier): "\(Self.hostDirectory)/\(stem).\(identifier)\(Self.suffix)"
        }
    }

    /// The domain that a file holds, or `nil` when a file of that name holds none.
    ///
    /// - Parameter fileName: the name relative to the preferences directory.
    package init?(fileName: String) {
        guard fileName.hasSuffix(Self.suffix) else { return nil }
        var stem = fileName.dropLast(Self.suffix.count)
        var host = DomainHost.any
        if stem.hasPrefix(Self.hostDirectory + "/") {
            stem = stem.dropFirst(Self.hostDirectory.count + 1)
            guard let dot = stem.lastIndex(of: "."),
                let only = try? DomainHost(identifier: String(stem[stem.index(after: dot)...]))
            else { return nil }
            host = only
            stem = stem[..<dot]
        }
        if stem == Self.globalStem {
            self.init(.global, host: host)
        } else {
            // A file that bears the global domain's name is not its file: it would hide behind the real one.
            guard let name = try? DomainName(String(stem)), !name.isGlobal else { return nil }
            self.init(name, host: host)
        }
    }
}
