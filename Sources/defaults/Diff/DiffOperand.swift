import DefaultsCore
import DefaultsKit
import PropertyList

/// One side of `diff`: a domain's values, or those of a property list in a file.
struct DiffOperand {
    let values: DomainValues
    /// What the values can be told apart by; binary where they are whole.
    let format: PropertyListFormat

    /// Finds an operand: "-" is standard input, a name with "/" or ".plist" is a file, all else a domain.
    init(_ operand: String, _ place: PlaceOptions, _ backend: () throws -> any Backend) throws {
        if operand == "-" || operand.contains("/") || operand.hasSuffix(".plist") {
            let document = try InputDocument(operand)
            guard case .dictionary(let values) = document.value else {
                throw Failure("\(document.name) holds no dictionary at its top, so it holds no keys.", .dataError)
            }
            (self.values, format) = (values, document.format)
            return
        }
        let domain = try place.domain(operand)
        let backend = try backend()
        let snapshot = try backend.snapshot(of: domain)
        if let damage = snapshot.damage {
            guard !snapshot.values.isEmpty else { throw Failure(damage, .dataError) }
            Failure.note("\(damage) The last good state is compared.")
        }
        guard !snapshot.values.isEmpty else {
            throw Failure(NotFound.domain(domain, in: backend).message, .noInput)
        }
        (values, format) = (snapshot.values, .binary)
    }

    /// The changes that make other values of these.
    ///
    /// Values are the same when either side's format can't tell them apart: XML keeps no fractions of a second, and
    /// old-style text knows strings alone.
    func changes(to other: DiffOperand) -> [KeyChange] {
        Set(values.keys).union(other.values.keys).sorted().compactMap { key in
            let (old, new) = (values[key], other.values[key])
            let isSame =
                PropertyListValue.areSame(old, new, readFrom: other.format)
                || PropertyListValue.areSame(new, old, readFrom: format)
            return isSame ? nil : KeyChange(key: key, old: old, new: new)
        }
    }
}
