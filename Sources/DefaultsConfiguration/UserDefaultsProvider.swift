#if Configuration
public import Configuration
public import DefaultsKit
public import PropertyList

/// A configuration provider that reads user defaults through their search list and pushes changes as they happen.
///
/// A server's settings take effect without a restart, whether `defaults write`, an editor or a program changes them.
/// Put the provider after the environment, so that environment variables override stored values:
///
/// ```swift
/// let config = ConfigReader(providers: [EnvironmentVariablesProvider(), UserDefaultsProvider(.standard)])
/// let timeout = config.int(forKey: "http.timeout", default: 30)
/// try await config.watchInt(forKey: "http.timeout", default: 30) { updates in
///     for await timeout in updates { server.timeout = timeout }
/// }
/// ```
///
/// ## Keys
///
/// The components of a key are joined by ".". The provider looks up the whole name first, then treats it as a path into
/// dictionaries: `http.timeout` is the value of the key "http.timeout" or, if there is none, of "timeout" in the
/// dictionary "http". It tries the longest prefix first, and dictionary keys may contain periods as well. A key's
/// context has no effect.
///
/// ## Values
///
/// | stored | read as |
/// | --- | --- |
/// | string | string; int, double or bool (true, false, yes, no, 1, 0) if it parses as one; bytes by decoder; array |
/// | integer | int, double if exact, bool (true unless it is 0), string |
/// | real | double, int if whole, bool (true unless it is 0), string |
/// | Boolean | bool, int and double (1 or 0), string ("1" or "0") |
/// | date | string, in ISO 8601 and UTC: "2001-01-01T00:00:00Z" |
/// | data | bytes |
/// | array | an array, if each element can be read as the element type |
/// | dictionary | not readable; read its values by their own keys |
///
/// A value that can't be read as the requested type throws a `UserDefaultsProviderError`. That includes dictionaries:
/// they don't count as absent.
///
/// ## Freshness
///
/// A plain read is a lookup in memory. A fetch waits until everything that happened before it is visible. A watch
/// starts with the current value and continues with each change; if changes arrive faster than they are consumed, it
/// delivers the newest. If no agent is running, changes by other processes arrive within a second.
///
/// A provider is safe to use from any task.
public struct UserDefaultsProvider: Sendable {
    /// The provider's name in logs and access reports.
    public let providerName: String

    let defaults: UserDefaults
    let conversion: ValueConversion

    /// Creates a provider of all values in a search list.
    ///
    /// ```swift
    /// let provider = UserDefaultsProvider(.standard, secretsSpecifier: .specific(["database.password"]))
    /// ```
    ///
    /// - Parameters:
    ///   - defaults: The defaults of the program or of a suite.
    ///   - name: A name that distinguishes this provider from others of its kind in logs.
    ///   - secretsSpecifier: The values that are secret and must not be logged, selected by the key's name (its
    ///     components joined by ".") and the stored value. A dictionary's name does not cover the values inside.
    ///   - bytesDecoder: The decoder that reads a string as bytes.
    ///   - arraySeparator: The separator between the elements of a string that is read as an array.
    public init(
        _ defaults: UserDefaults,
        name: String? = nil,
        secretsSpecifier: SecretsSpecifier<String, PropertyListValue> = .none,
        bytesDecoder: some ConfigBytesFromStringDecoder = .base64,
        arraySeparator: Character = ","
    ) {
        providerName = "UserDefaultsProvider" + (name.map { "[\($0)]" } ?? "")
        self.defaults = defaults
        conversion = ValueConversion(
            secretsSpecifier: secretsSpecifier, bytesDecoder: bytesDecoder, arraySeparator: arraySeparator)
    }
}
#endif
