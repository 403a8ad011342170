/// A dictionary's key in a coding path.
struct NameKey: CodingKey {
    let stringValue: String

    init(_ name: String) { stringValue = name }

    init?(stringValue: String) { self.init(stringValue) }

    init?(intValue: Int) { self.init(String(intValue)) }

    /// The number that the name spells, for dictionaries whose keys are numbers.
    var intValue: Int? { Int(stringValue) }
}
