extension Domain {
    /// The subdirectory, of the preferences directory or of another layer's, with the domains for one host.
    package static let hostDirectory = "ByHost"

    private static let suffix = ".plist"
    private static let globalStem = ".GlobalPreferences"

    /// The file's name, relative to the directory of its layer; for the current user, the preferences directory.
    package var fileName: String {
        let stem = name.isGlobal ? Self.globalStem : name.description
        return switch host {
        case .any: stem + Self.suffix
        case .only(let identifier): "\(Self.hostDirectory)/\(stem).\(identifier)\(Self.suffix)"
        }
    }

    /// Creates the domain that a file holds; fails if no domain has a file of that name.
    ///
    /// - Parameters:
    ///   - fileName: The file's name, relative to the directory of its layer.
    ///   - user: The user of the layer.
    package init?(fileName: String, user: DomainUser = .current) {
        // Compares bytes: as characters, a "/" and a combining accent that begins a name would be one.
        var stem = fileName.utf8[...]
        guard stem.reversed().starts(with: Self.suffix.utf8.reversed()) else { return nil }
        stem = stem.dropLast(Self.suffix.utf8.count)
        var host = DomainHost.any
        let hostPrefix = Self.hostDirectory + "/"
        if stem.starts(with: hostPrefix.utf8) {
            stem = stem.dropFirst(hostPrefix.utf8.count)
            guard let dot = stem.lastIndex(of: UInt8(ascii: ".")),
                let only = try? DomainHost(identifier: String(Substring(stem[stem.index(after: dot)...])))
            else { return nil }
            host = only
            stem = stem[..<dot]
        }
        if stem.elementsEqual(Self.globalStem.utf8) {
            self.init(.global, host: host, user: user)
        } else {
            // `NSGlobalDomain.plist` is no domain's file: `.GlobalPreferences.plist` has the values of that domain.
            guard let name = try? DomainName(String(Substring(stem))), !name.isGlobal else { return nil }
            self.init(name, host: host, user: user)
        }
    }
}
