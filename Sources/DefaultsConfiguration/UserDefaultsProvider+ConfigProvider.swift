#if Configuration
public import Configuration
import DefaultsKit
import PropertyList

extension UserDefaultsProvider: ConfigProvider {
    /// The current value of a key, from memory.
    ///
    /// - Parameters:
    ///   - key: the key.
    ///   - type: the type to read the value as.
    /// - Returns: the value, if there is one.
    /// - Throws: `UserDefaultsProviderError` when the value can't be read as the type.
    public func value(forKey key: AbsoluteConfigKey, type: ConfigType) throws -> LookupResult {
        let key = SearchedKey(key)
        return try conversion.result(key.find(in: defaults.entries(forKeys: key.candidates)), for: key, as: type)
    }

    /// The value of a key, after everything that happened before the call is seen: by this process or by another.
    ///
    /// No task is blocked meanwhile, and fetches at the same time share one wait. What this process has set is durable as
    /// well after it; that something can't be saved is told to `UserDefaults.onProblem`, and is no failure of the fetch.
    ///
    /// - Parameters:
    ///   - key: the key.
    ///   - type: the type to read the value as.
    /// - Returns: the value, if there is one.
    /// - Throws: `UserDefaultsProviderError` when the value can't be read as the type; `CancellationError` when the task is
    ///   cancelled meanwhile.
    public func fetchValue(forKey key: AbsoluteConfigKey, type: ConfigType) async throws -> LookupResult {
        try await refresh()
        return try value(forKey: key, type: type)
    }

    /// Follows a key: its value at once, then each time it changes, whoever changes it.
    ///
    /// A value that can't be read as the type is a failure among the elements, and doesn't end them. They end when the
    /// task is cancelled.
    ///
    /// - Parameters:
    ///   - key: the key.
    ///   - type: the type to read the value as.
    ///   - updatesHandler: takes the values.
    /// - Returns: what the handler returns.
    /// - Throws: what the handler throws.
    public func watchValue<Return: ~Copyable>(
        forKey key: AbsoluteConfigKey,
        type: ConfigType,
        updatesHandler: (
            _ updates: ConfigUpdatesAsyncSequence<Result<LookupResult, any Error>, Never>
        ) async throws -> Return
    ) async throws -> Return {
        let key = SearchedKey(key)
        let conversion = conversion
        let updates = defaults.updates(ofKeys: key.candidates) { key.find(in: $0) }
            .map { value in Result<_, any Error> { try conversion.result(value, for: key, as: type) } }
        return try await updatesHandler(ConfigUpdatesAsyncSequence(updates))
    }

    /// All that the search finds now.
    public func snapshot() -> any ConfigSnapshot { snapshot(of: defaults.values()) }

    /// Follows all that the search finds: everything at once, then everything each time something changes.
    ///
    /// Each snapshot is what was in force at one moment. They end when the task is cancelled.
    ///
    /// - Parameter updatesHandler: takes the snapshots.
    /// - Returns: what the handler returns.
    /// - Throws: what the handler throws.
    public func watchSnapshot<Return: ~Copyable>(
        updatesHandler: (_ updates: ConfigUpdatesAsyncSequence<any ConfigSnapshot, Never>) async throws -> Return
    ) async throws -> Return {
        let snapshots = defaults.snapshots().map { snapshot(of: $0.values) }
        return try await updatesHandler(ConfigUpdatesAsyncSequence(snapshots))
    }

    private func snapshot(of values: [String: PropertyListValue]) -> any ConfigSnapshot {
        UserDefaultsSnapshot(providerName: providerName, values: values, conversion: conversion)
    }
}

extension UserDefaultsProvider: CustomStringConvertible {
    /// The provider's name.
    public var description: String { providerName }
}
#endif
