#if Configuration
import Configuration
import PropertyList

/// A snapshot of all values of a search list, as configuration.
struct UserDefaultsSnapshot: ConfigSnapshot {
    let providerName: String
    let values: [String: PropertyListValue]
    let conversion: ValueConversion

    func value(forKey key: AbsoluteConfigKey, type: ConfigType) throws -> LookupResult {
        let key = SearchedKey(key)
        return try conversion.result(key.find(in: values), for: key, as: type)
    }
}

/// A description without values, since some are secret.
extension UserDefaultsSnapshot: CustomStringConvertible, CustomDebugStringConvertible {
    var description: String { "\(providerName)[\(values.count) values]" }
    var debugDescription: String { description }
}
#endif
