import DefaultsCore
package import PropertyList

extension UserDefaults {
    /// Tells where a key's value comes from: every domain of the search list that has the key, the winning one first.
    ///
    /// Empty when none has it.
    public func explain(_ key: String) -> [ExplainedLayer] {
        live.search(list)
        return live.holders(of: key, in: list).map { layer, value in
            switch layer {
            case .persistent(let domain):
                ExplainedLayer(
                    kind: .persistent(PreferencesDomain(domain), path: live.path(of: domain)), value: value)
            case .volatile(let name): ExplainedLayer(kind: .volatile(name), value: value)
            }
        }
    }

    /// Tells where a typed key's value comes from.
    public func explain<Value>(_ key: DefaultsKey<Value>) -> [ExplainedLayer] { explain(key.name) }

    /// A key as a problem names it: with the domain that its value is from, if it is from one.
    package func describe(_ key: String, having value: PropertyListValue) -> String {
        guard let layer = explain(key).first, layer.value == value else { return "\"\(key)\"" }
        return switch layer.kind {
        case .persistent(let domain, _): "\"\(key)\" of \(domain)"
        case .volatile(let name): "\"\(key)\" of \(name)"
        }
    }
}
