public import DefaultsKit
public import Foundation
public import PropertyList

extension NSDictionary: PropertyListConvertible, EntriesByKey {
    /// A dictionary of what its values are stored as; keys that aren't strings are an error.
    public var propertyListValue: PropertyListValue? {
        get throws { try PropertyListValue(any: self, forKey: "") }
    }

    /// The entries, if all keys are strings.
    package var entries: [String: Any]? {
        var entries: [String: Any] = [:]
        for (key, value) in self {
            guard let text = key as? NSString else { return nil }
            entries[text as String] = value
        }
        return entries
    }
}
