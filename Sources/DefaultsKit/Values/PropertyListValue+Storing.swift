#if !OVER_FOUNDATION
package import DefaultsCore
package import PropertyList

extension HomeDirectory {
    /// The home directory of the user who runs this process.
    static var current: HomeDirectory { HomeDirectory(path: Environment.current.home) }
}

extension PropertyListValue {
    /// Converts a value passed to the classic `set(_:forKey:)`.
    ///
    /// It accepts strings, numbers of every width, Booleans, dates, data, arrays and dictionaries of these with string
    /// keys, any `PropertyListConvertible` value, and `Optional`s of all of them. An element that is `nil` is left out
    /// of a dictionary. In an array, it is an error, since leaving it out would move the others. If the value itself is
    /// `nil`, at any depth of `Optional`, the result is `nil`, which removes the key.
    ///
    /// - Parameters:
    ///   - value: Any value.
    ///   - key: The key to set; the path in the error begins with it.
    /// - Throws: `invalidValue`, with the path and the type of the part that a property list can't hold.
    package init?(any value: Any, forKey key: String) throws(DefaultsError) {
        do throws(UnstorableValue) {
            guard let converted = try Self.stored(any: value) else { return nil }
            self = converted
        } catch {
            throw DefaultsError(.invalidValue, error.sentence(forKey: key))
        }
    }

    /// Converts a new value of a key that is given by its name.
    ///
    /// If the value is `nil`, the result is `nil`, which removes the key.
    ///
    /// - Parameters:
    ///   - value: A value of a type that can be stored.
    ///   - key: The key to set; the error begins with it.
    /// - Throws: `invalidValue`, if the value can't be encoded or is nested more deeply than a file allows.
    package init?(storing value: some PropertyListConvertible, forKey key: String) throws(DefaultsError) {
        do throws(UnstorableValue) {
            guard let converted = try Self.stored(value) else { return nil }
            self = converted
        } catch {
            throw DefaultsError(.invalidValue, error.sentence(forKey: key))
        }
    }
}
#endif
