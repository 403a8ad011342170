import DefaultsCore

/// One domain of a search list.
enum SearchLayer: Hashable, Sendable {
    /// A file's.
    case persistent(Domain)
    /// One of this process alone, by its name.
    case volatile(String)

    /// The name of the volatile domain that the arguments of the process make.
    static let argumentDomain = "NSArgumentDomain"
    /// The name of the volatile domain that holds the defaults of last resort.
    static let registrationDomain = "NSRegistrationDomain"

    /// The layers that are searched for an application's values, the winning one first.
    ///
    /// The order is that of NSUserDefaults and CFPreferences.
    ///
    /// - Parameters:
    ///   - application: the application, or a suite that is used in its place.
    ///   - suites: the suites that were added, the last one first.
    ///   - system: the layers below the user's own.
    ///   - languages: the languages domains, in their order.
    /// - Returns: the layers, in their order.
    static func layers(
        for application: DomainName, suites: [DomainName], in system: SystemDirectories, languages: [String] = []
    ) -> [SearchLayer] {
        let names = [application] + suites + (application.isGlobal ? [] : [.global])
        var layers = names.map { SearchLayer.persistent(.managed($0)) }
        layers.append(.volatile(argumentDomain))
        for name in names { layers += Domain.ofUser(name).map(SearchLayer.persistent) }
        for name in [application, .global] {
            layers += Domain.ofAnyUser(name, in: system).map(SearchLayer.persistent)
        }
        layers += languages.map(SearchLayer.volatile)
        layers.append(.volatile(registrationDomain))
        // A name that is there twice, as that of a suite that is the application, counts where it is first.
        var seen: Set<SearchLayer> = []
        return layers.filter { seen.insert($0).inserted }
    }
}
