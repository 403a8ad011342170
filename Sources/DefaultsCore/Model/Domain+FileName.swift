extension Domain {
    /// The name of a layer's subdirectory for the domains of single hosts.
    package static let hostDirectory = "ByHost"

    private static let suffix = ".plist"
    private static let globalStem = ".GlobalPreferences"

    /// The file's name, relative to its layer's directory; the current user's layer is in the preferences directory.
    package var fileName: String {
        let stem = name.isGlobal ? Self.globalStem : name.description
        return switch host {
        case .any: stem + Self.suffix
        case .only(let identifier): "\(Self.hostDirectory)/\(stem).\(identifier)\(Self.suffix)"
        }
    }

    /// Creates the domain stored in a file; fails if no domain has a file with that name.
    ///
    /// - Parameters:
    ///   - fileName: The file's name, relative to its layer's directory.
    ///   - user: The user of the layer.
    package init?(fileName: String, user: DomainUser = .current) {
        // Compare bytes: a "/" followed by a name that begins with a combining accent would be a single character.
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
            // `NSGlobalDomain.plist` isn't the file of any domain: the values of that domain are in
            // `.GlobalPreferences.plist`.
            guard let name = try? DomainName(String(Substring(stem))), !name.isGlobal else { return nil }
            self.init(name, host: host, user: user)
        }
    }
}
