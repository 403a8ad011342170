#if Configuration
import Configuration
import PropertyList

/// All that a search found at one moment, as configuration.
struct UserDefaultsSnapshot: ConfigSnapshot {
    let providerName: String
    let values: [String: PropertyListValue]
    let conversion: ValueConversion

    func value(forKey key: AbsoluteConfigKey, type: ConfigType) throws -> LookupResult {
        let key = SearchedKey(key)
        return try conversion.result(key.find(in: values), for: key, as: type)
    }
}

/// How it is printed: with no value, since some are secret.
extension UserDefaultsSnapshot: CustomStringConvertible, CustomDebugStringConvertible {
    var description: String { "\(providerName)[\(values.count) values]" }
    var debugDescription: String { description }
}
#endif
