import DefaultsCommand
import PropertyList

/// A check that JSON that can be read is written so that it reads back as the same value.
enum JSONCheck {
    static func check(_ bytes: [UInt8]) throws(FuzzTarget.Finding) {
        guard let value = try? JSONReader.read(bytes) else { return }
        let text = Array(JSONText.of(value).utf8)
        let again: PropertyListValue
        do throws(Failure) {
            again = try JSONReader.read(text)
        } catch {
            throw FuzzTarget.Finding(description: "Written JSON can't be read: \(error.message)")
        }
        guard again == value else {
            throw FuzzTarget.Finding(description: "Written JSON reads back as another value.")
        }
        // Reading loses nothing: a binary property list has the same value.
        guard let binary = try? value.write(as: .binary) else { return }
        guard let stored = try? PropertyListValue(parsing: binary), Array(JSONText.of(stored).utf8) == text else {
            throw FuzzTarget.Finding(description: "The value, stored as a binary property list, gives different JSON.")
        }
    }
}
