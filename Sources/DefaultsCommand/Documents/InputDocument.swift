import DefaultsCore
import PropertyList

/// A property list or JSON that a person gave, in a file or on standard input.
struct InputDocument {
    /// What messages call it.
    let name: String
    let value: PropertyListValue
    let format: PropertyListFormat

    /// Reads a file, or standard input for "-", that is no larger and no deeper than a domain's file may be.
    ///
    /// - Parameter path: the file.
    /// - Throws: why it can't be read or understood.
    init(_ path: FilePath) throws(Failure) {
        name = InputFile.title(path)
        let bytes = try InputFile.read(path)
        do throws(PropertyListError) {
            (value, format) = try PropertyListValue.read(bytes, limits: DomainFile.standardLimits)
        } catch {
            guard JSONReader.isLikely(bytes) else { throw Failure("\(name): \(error)", .dataError) }
            do throws(Failure) {
                // It tells all types apart, as the binary format does.
                (value, format) = (try JSONReader.read(bytes, limits: DomainFile.standardLimits), .binary)
            } catch {
                throw Failure("\(name): \(error.message)", error.status)
            }
        }
    }

    /// The keys that it holds.
    ///
    /// - Parameter consequence: what isn't done without any, as the end of the sentence.
    /// - Returns: its entries.
    /// - Throws: when it isn't a dictionary.
    func values(_ consequence: String = "") throws(Failure) -> DomainValues {
        guard case .dictionary(let values) = value else {
            throw Failure(
                "\(name) holds no dictionary but a value of type \(value.typeName), so it has no keys\(consequence).",
                .dataError)
        }
        return values
    }
}
