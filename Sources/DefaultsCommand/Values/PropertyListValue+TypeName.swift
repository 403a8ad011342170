import PropertyList

extension PropertyListValue {
    /// The value's type as `read-type` names it.
    var typeName: String {
        switch self {
        case .string: "string"
        case .integer, .unsigned: "integer"
        case .real, .real32: "float"
        case .boolean: "boolean"
        case .date: "date"
        case .data: "data"
        case .array: "array"
        // Text formats write a uid as a dictionary.
        case .dictionary, .uid: "dictionary"
        }
    }
}
