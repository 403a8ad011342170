import ArgumentParser
import DefaultsCore
import PropertyList

/// `defaults import domain file`.
struct Import: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Sets the keys of a domain that a property list has; other keys stay.",
        discussion: """
            The file may be XML, binary or old-style text. All keys are set in one step.

            EXAMPLES
              defaults import org.example.editor settings.plist
              defaults export org.example.editor - | defaults import org.example.viewer -
            """)

    @OptionGroup var place: PlaceOptions
    @Argument(help: "The domain, or the path of a file.") var domain: String
    @Argument(help: "The file, or - for standard input.") var path: String

    func run() throws {
        let open = try place.open(domain)
        let bytes = try InputFile.read(path)
        let name = InputFile.title(path)
        let value: PropertyListValue
        do throws(PropertyListError) {
            value = try PropertyListValue(parsing: bytes, limits: Frame.requestLimits)
        } catch {
            throw Failure("Could not parse property list from \(name) due to: \(error)", .dataError)
        }
        guard case .dictionary(let values) = value else {
            throw Failure(
                "The property list from \(name) was not a dictionary but of type \(value.typeName); "
                    + "\(open.place.name) is unchanged.", .dataError)
        }
        _ = try open.valuesToReplace()
        try open.edit(values.mapValues { $0 })
    }
}
