import PropertyList

/// A value under construction, which the containers of an encoder share.
final class EncodingNode {
    private enum Content {
        case nothing
        case null
        case value(PropertyListValue)
        case array([EncodingNode])
        case dictionary([String: EncodingNode])
        case conflict
    }

    private var content = Content.nothing

    /// How many elements the array has so far.
    var count: Int {
        guard case .array(let nodes) = content else { return 0 }
        return nodes.count
    }

    /// Puts a value; a second one would be lost, so it is an error.
    func set(_ value: PropertyListValue?) {
        guard case .nothing = content else { return content = .conflict }
        content = value.map(Content.value) ?? .null
    }

    /// Makes it an array, if it isn't one.
    func becomeArray() {
        switch content {
        case .array: break
        case .nothing: content = .array([])
        default: content = .conflict
        }
    }

    /// Makes it a dictionary, if it isn't one.
    func becomeDictionary() {
        switch content {
        case .dictionary: break
        case .nothing: content = .dictionary([:])
        default: content = .conflict
        }
    }

    /// A new element of the array.
    func append() -> EncodingNode {
        let node = EncodingNode()
        guard case .array(var nodes) = content else { return node }
        content = .nothing
        nodes.append(node)
        content = .array(nodes)
        return node
    }

    /// The node of a key; the one it has when `keeps` is true, as for a container that is asked for twice.
    func entry(_ key: String, keeps: Bool) -> EncodingNode {
        guard case .dictionary(var nodes) = content else { return EncodingNode() }
        if keeps, let node = nodes[key] { return node }
        let node = EncodingNode()
        content = .nothing
        nodes[key] = node
        content = .dictionary(nodes)
        return node
    }

    /// The finished tree; nil for nil.
    ///
    /// What encoded nothing is an empty dictionary, as with Foundation's encoders.
    func finished(at path: [any CodingKey]) throws(EncodingError) -> PropertyListValue? {
        switch content {
        case .nothing, .array, .dictionary:
            if path.count >= PropertyListValue.maximumDepth { throw ValueEncoder.tooDeep(self, at: path) }
        default: break
        }
        switch content {
        case .nothing: return .dictionary([:])
        case .null: return nil
        case .value(let value): return value
        case .array(let nodes):
            var values: [PropertyListValue] = []
            values.reserveCapacity(nodes.count)
            for (index, node) in nodes.enumerated() {
                values.append(try node.finished(at: path + [IndexKey(index)]) ?? .nullInArray)
            }
            return .array(values)
        case .dictionary(let nodes):
            var values: [String: PropertyListValue] = [:]
            values.reserveCapacity(nodes.count)
            for (key, node) in nodes { values[key] = try node.finished(at: path + [NameKey(key)]) }
            return .dictionary(values)
        case .conflict:
            let sentence = "The value\(path.place) encodes itself twice, or as two kinds of container."
            throw .invalidValue(self, EncodingError.Context(codingPath: path, debugDescription: sentence))
        }
    }
}
