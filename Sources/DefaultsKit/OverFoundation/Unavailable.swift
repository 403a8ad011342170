#if OVER_FOUNDATION
import Foundation
public import PropertyList

// Features that DefaultsKit lacks over Foundation's class, declared so that the compiler says why. Streams are
// sequences, and enumerations have their cases, since the compiler would otherwise report that these are missing.

// MARK: Change sets

extension UserDefaults {
    /// The domains that a stream of change sets follows.
    @available(*, unavailable, message: "A stream of change sets needs the agent, which runs only on Linux.")
    public enum ChangeScope {
        /// The application's or the suite's own domain.
        case application
        /// The domains of a name.
        case domain(String)
        /// All domains of the search list.
        case searchList
    }

    /// The outcome of undoing a change set.
    @available(*, unavailable, message: "Undo needs the agent, which runs only on Linux.")
    public enum UndoResult {}

    /// Returns a stream of every change to a key's value.
    @available(
        *, unavailable,
        message: "A stream of every change needs the agent, which runs only on Linux. Follow the value: `updates(of:)`."
    )
    public func changes<Value>(of key: DefaultsKey<Value>) -> DefaultsKeyChanges<Value> { fatalError() }

    /// Returns a stream of every change set of some domains.
    @available(*, unavailable, message: "A stream of change sets needs the agent, which runs only on Linux.")
    public func changes(in scope: ChangeScope) -> DefaultsChanges { fatalError() }

    /// Returns the earlier change sets of some domains.
    @available(*, unavailable, message: "The history needs the agent, which runs only on Linux.")
    public func history(of scope: ChangeScope) -> DefaultsHistory { fatalError() }

    /// Undoes a change set.
    @available(*, unavailable, message: "Undo needs the agent, which runs only on Linux.")
    public func undo(_ change: DefaultsChange) async throws(DefaultsProblem) -> UndoResult { fatalError() }
}

extension UserDefaults {
    /// Registers the defaults in a domain's manifest.
    @available(*, unavailable, message: "Manifests are installed only on Linux. Use `register(defaults:)`.")
    @discardableResult
    public func register(manifestOf domain: String) -> Bool { fatalError() }
}

/// A change to one key.
@available(*, unavailable, message: "A stream of every change needs the agent, which runs only on Linux.")
public enum KeyChange<Value: Sendable> {}

/// A stream of each change to a key's value.
@available(*, unavailable, message: "A stream of every change needs the agent, which runs only on Linux.")
public typealias DefaultsKeyChanges<Value: DefaultsValue> = AsyncStream<KeyChange<Value>>

/// A stream of everything that happens to some domains.
@available(*, unavailable, message: "A stream of change sets needs the agent, which runs only on Linux.")
public typealias DefaultsChanges = AsyncThrowingStream<DefaultsEvent, any Error>

/// A change set.
@available(*, unavailable, message: "A stream of change sets needs the agent, which runs only on Linux.")
public enum DefaultsChange {}

/// An event of the domains that a stream follows.
@available(*, unavailable, message: "A stream of change sets needs the agent, which runs only on Linux.")
public enum DefaultsEvent {
    /// A change set.
    case change(DefaultsChange)
    /// A change set without changes.
    case overruled(DefaultsChange)
    /// A domain's file is damaged or unreadable.
    case damaged(PreferencesDomain, reason: String)
    /// A domain's edits can't be saved.
    case unsaved(PreferencesDomain, reason: String)
    /// A domain is no longer damaged or unsaved.
    case recovered(PreferencesDomain)
    /// Earlier changes are lost to this stream.
    case gap
}

/// The earlier change sets of some domains.
@available(*, unavailable, message: "The history needs the agent, which runs only on Linux.")
public typealias DefaultsHistory = AsyncThrowingStream<DefaultsChange, any Error>

// MARK: Single domains and saving

extension UserDefaults {
    /// The name of the domain of `standard`.
    @available(*, unavailable, message: "Foundation names the domain after the bundle: `Bundle.main.bundleIdentifier`.")
    public static var applicationIdentifier: String {
        get { fatalError() }
        set { fatalError() }
    }

    /// Creates preferences that exist only in memory.
    @available(*, unavailable, message: "Foundation has no preferences in memory. Use a suite instead.")
    public convenience init(inMemory values: [String: PropertyListValue]) { fatalError() }

    /// Runs a body in which `standard` is another instance.
    @available(*, unavailable, message: "Foundation's standard defaults can't be replaced. Pass a suite instead.")
    public static func withStandard<Outcome>(
        _ defaults: UserDefaults, reportingTo handler: (@Sendable (DefaultsProblem) -> Void)? = nil,
        _ body: () throws -> Outcome
    ) rethrows -> Outcome { fatalError() }

    /// Runs a body that may suspend, in which `standard` is another instance.
    @available(*, unavailable, message: "Foundation's standard defaults can't be replaced. Pass a suite instead.")
    public static func withStandard<Outcome>(
        _ defaults: UserDefaults, reportingTo handler: (@Sendable (DefaultsProblem) -> Void)? = nil,
        isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Outcome
    ) async rethrows -> Outcome { fatalError() }

    /// Sets several keys as one change set, and waits until it is saved.
    @available(*, unavailable, message: "Foundation doesn't refuse values. Use `withTransaction(_:)`.")
    public func store<Outcome>(_ body: (inout DefaultsTransaction) throws -> Outcome) throws -> Outcome { fatalError() }

    /// Takes a step that converts the preferences of earlier versions of the program.
    @available(*, unavailable, message: "Steps are taken once across processes only on Linux. Convert the values.")
    @discardableResult
    public func migrate(once step: String, _ body: (inout DefaultsTransaction) throws -> Void) throws -> Bool {
        fatalError()
    }

    /// Sets a key to the value of its former name.
    @available(*, unavailable, message: "Keys are migrated once across processes only on Linux. Set the new key.")
    @discardableResult
    public func migrate<Value>(
        _ former: String, of formerDomain: String? = nil, to key: DefaultsKey<Value>
    ) throws -> Bool { fatalError() }

    /// Removes all keys from the application's or the suite's domain.
    @available(*, unavailable, message: "Foundation needs the domain's name: `removePersistentDomain(forName:)`.")
    public func resetAll() { fatalError() }

    /// Waits until earlier edits are durable.
    @available(*, unavailable, message: "Waiting until edits are durable needs defaultsd, which runs only on Linux.")
    public func save() throws(DefaultsProblem) { fatalError() }

    /// Suspends until earlier edits are durable.
    @available(*, unavailable, message: "Waiting until edits are durable needs defaultsd, which runs only on Linux.")
    public func save() async throws(DefaultsProblem) { fatalError() }

    /// Returns a single domain.
    @available(*, unavailable, message: "Single domains need defaultsd, which runs only on Linux.")
    public func domain(
        _ name: String, user: PreferencesUser = .current, host: PreferencesHost = .any
    ) throws(DefaultsProblem) -> PreferencesDomain { fatalError() }

    /// Returns the domains of a scope that have values.
    @available(*, unavailable, message: "Single domains need defaultsd, which runs only on Linux.")
    public func domains(
        user: PreferencesUser = .current, host: PreferencesHost = .any
    ) throws(DefaultsProblem) -> [PreferencesDomain] { fatalError() }

    /// Returns every domain of the search list that has a key.
    @available(*, unavailable, message: "Foundation doesn't tell which domain a value comes from.")
    public func layers(holding key: String) -> [ExplainedLayer] { fatalError() }

    /// Returns every domain of the search list that has a typed key.
    @available(*, unavailable, message: "Foundation doesn't tell which domain a value comes from.")
    public func layers<Value>(holding key: DefaultsKey<Value>) -> [ExplainedLayer] { fatalError() }
}

/// A single domain.
@available(*, unavailable, message: "Single domains need defaultsd, which runs only on Linux.")
public enum PreferencesDomain {}

/// The host on which a domain's values apply.
@available(*, unavailable, message: "Single domains need defaultsd, which runs only on Linux.")
public enum PreferencesHost {
    /// Every host that shares the directory.
    case any
    /// This host.
    case current
    /// A host given by its identifier.
    case identifier(String)
}

/// The user whose values a domain holds.
@available(*, unavailable, message: "Single domains need defaultsd, which runs only on Linux.")
public enum PreferencesUser {
    /// The current user.
    case current
    /// All users of this system.
    case any(directory: String)
    /// All users of this system, whose values the administrator forces.
    case managed
}

/// A domain in a search list that has some key.
@available(*, unavailable, message: "Foundation doesn't tell which domain a value comes from.")
public enum ExplainedLayer {}
#endif
