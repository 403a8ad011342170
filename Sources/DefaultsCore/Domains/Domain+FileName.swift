extension Domain {
    /// The directory below the preferences directory, or another layer's, that holds what is for one host.
    package static let hostDirectory = "ByHost"

    private static let suffix = ".plist"
    private static let globalStem = ".GlobalPreferences"

    /// The file's name, relative to the directory of its layer: the preferences directory, for the current user.
    package var fileName: String {
        let stem = name.isGlobal ? Self.globalStem : name.description
        return switch host {
        case .any: stem + Self.suffix
        case .only(let identifier): "\(Self.hostDirectory)/\(stem).\(identifier)\(Self.suffix)"
        }
    }

    /// The domain that a file holds, or `nil` when a file of that name holds none.
    ///
    /// - Parameters:
    ///   - fileName: the name relative to the directory of its layer.
    ///   - user: whose the layer is.
    package init?(fileName: String, user: DomainUser = .current) {
        // By bytes: as characters, "/" and an accent that a name begins with would be one.
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
            // A file that bears the global domain's name is not its file: it would hide behind the real one.
            guard let name = try? DomainName(String(Substring(stem))), !name.isGlobal else { return nil }
            self.init(name, host: host, user: user)
        }
    }
}
