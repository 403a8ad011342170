import DefaultsCommand
import PropertyList

/// JSON that is read is written, and is then read as the same.
enum JSONCheck {
    static func check(_ bytes: [UInt8]) throws(FuzzTarget.Finding) {
        guard let value = try? JSONReader.read(bytes) else { return }
        let text = Array(JSONText.of(value).utf8)
        let again: PropertyListValue
        do throws(Failure) {
            again = try JSONReader.read(text)
        } catch {
            throw FuzzTarget.Finding(description: "JSON that was written can't be read: \(error.message)")
        }
        guard again == value else {
            throw FuzzTarget.Finding(description: "JSON that was written is read as another value.")
        }
        // Reading loses nothing: a binary property list has the same value.
        guard let binary = try? value.write(as: .binary) else { return }
        guard let stored = try? PropertyListValue(parsing: binary), Array(JSONText.of(stored).utf8) == text else {
            throw FuzzTarget.Finding(description: "A property list of the value is another as JSON.")
        }
    }
}
