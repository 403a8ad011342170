#if Configuration
public import Configuration
public import DefaultsKit
public import PropertyList

/// Configuration from user defaults: all that a search finds, and each change of it, pushed when it happens.
///
/// A server's settings are then in force without a restart, whoever changes them: `defaults write`, an editor, or a
/// program. Put it behind the environment, so that a variable overrides what is stored:
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
/// The components of a key are joined by ".". The name is looked up as it is, then as a path into dictionaries:
/// `http.timeout` is the value of the key "http.timeout", and where there is none, that of "timeout" in the dictionary
/// "http". The longest key comes first, and that of a dictionary may contain points as well. The context of a key has no
/// effect.
///
/// ## Values
///
/// | stored | read as |
/// | --- | --- |
/// | string | string; int, double, bool (true, false, yes, no, 1, 0) if all of it is one; bytes by the decoder; an array |
/// | integer | int, double if exact, bool (whether it isn't 0), string |
/// | real | double, int if whole, bool (whether it isn't 0), string |
/// | Boolean | bool, int and double (1 or 0), string ("1" or "0") |
/// | date | string, in ISO 8601 and UTC: "2001-01-01T00:00:00Z" |
/// | data | bytes |
/// | array | an array, if each element can be read as its type |
/// | dictionary | nothing: its values are asked for by their own keys |
///
/// What can't be read as the type asked for is a `UserDefaultsProviderError`, a dictionary included: it isn't absent.
///
/// ## Freshness
///
/// A plain read is a lookup in memory, a fetch waits until everything is seen that happened before it, and a watch begins
/// with the current value and goes on with each change, the newest where they come faster than they are taken. Where no
/// agent runs, changes by others come within a second.
///
/// Any task may use any copy.
public struct UserDefaultsProvider: Sendable {
    /// The provider's name in logs and access reports.
    public let providerName: String

    let defaults: UserDefaults
    let conversion: ValueConversion
    let refresh: Refresh

    /// Makes a provider of all that a search finds.
    ///
    /// ```swift
    /// let provider = UserDefaultsProvider(.standard, secretsSpecifier: .specific(["database.password"]))
    /// ```
    ///
    /// - Parameters:
    ///   - defaults: the preferences of the program or of a suite.
    ///   - name: what tells this provider from others of its kind in logs.
    ///   - secretsSpecifier: which values are secret, so that they aren't logged; by the name of the key, joined by ".",
    ///     and by the stored value. A dictionary's name stands for none of its values.
    ///   - bytesDecoder: reads a string as bytes.
    ///   - arraySeparator: what is between the elements of a string that is read as an array.
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
        refresh = Refresh(defaults)
    }
}
#endif
