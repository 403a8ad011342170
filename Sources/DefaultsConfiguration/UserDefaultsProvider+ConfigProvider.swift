#if Configuration
public import Configuration
import DefaultsKit
import PropertyList

extension UserDefaultsProvider: ConfigProvider {
    /// Returns the current value of a key from memory.
    ///
    /// - Parameters:
    ///   - key: The key to look up.
    ///   - type: The type to read the value as.
    /// - Returns: The value, if there is one.
    /// - Throws: `UserDefaultsProviderError` if the value can't be read as the type.
    public func value(forKey key: AbsoluteConfigKey, type: ConfigType) throws -> LookupResult {
        let key = SearchedKey(key)
        return try conversion.result(key.find(in: defaults.entries(forKeys: key.candidates)), for: key, as: type)
    }

    /// Returns the value of a key once everything that happened before the call is visible.
    ///
    /// Changes by this process and by others are included. The call never blocks a thread that runs tasks, and
    /// concurrent fetches share one wait. A fetch also makes this process's edits durable. A failed save is reported to
    /// the handler set with `UserDefaults.setProblemHandler(_:)`, but doesn't make the fetch fail.
    ///
    /// - Parameters:
    ///   - key: The key to look up.
    ///   - type: The type to read the value as.
    /// - Returns: The value, if there is one.
    /// - Throws: `UserDefaultsProviderError` if the value can't be read as the type; `CancellationError` if the task is
    ///   canceled.
    public func fetchValue(forKey key: AbsoluteConfigKey, type: ConfigType) async throws -> LookupResult {
        do throws(DefaultsProblem) { try await defaults.save() } catch  where error.code == .cancellation {
            throw CancellationError()
        } catch {}
        return try value(forKey: key, type: type)
    }

    /// Watches a key: delivers its current value, then each new value, whichever process changes it.
    ///
    /// A value that can't be read as the type is delivered as a failure and does not end the sequence. The sequence
    /// ends when the task is canceled.
    ///
    /// - Parameters:
    ///   - key: The key to look up.
    ///   - type: The type to read the value as.
    ///   - updatesHandler: A closure that consumes the values.
    /// - Returns: The handler's result.
    /// - Throws: The handler's error.
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

    /// Returns a snapshot of all current values.
    public func snapshot() -> any ConfigSnapshot { snapshot(of: defaults.values()) }

    /// Watches all values: delivers a snapshot of them, then another after each change.
    ///
    /// Each snapshot shows all values at one point in time. The sequence ends when the task is canceled.
    ///
    /// - Parameter updatesHandler: A closure that consumes the snapshots.
    /// - Returns: The handler's result.
    /// - Throws: The handler's error.
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
