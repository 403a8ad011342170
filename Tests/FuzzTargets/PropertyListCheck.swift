import PropertyList

/// A check that a property list that can be read is written so that it reads back as the same value.
enum PropertyListCheck {
    static func check(_ bytes: [UInt8], as format: PropertyListFormat) throws(FuzzTarget.Finding) {
        guard let value = try? PropertyListValue.read(bytes, as: format) else { return }
        for other in [PropertyListFormat.xml, .binary, .oldStyle] {
            // A value that the format can't represent is the writer's error, and not a finding.
            guard let text = try? value.write(as: other) else { continue }
            let again: PropertyListValue
            do throws(PropertyListError) {
                again = try PropertyListValue.read(text, as: other)
            } catch {
                throw FuzzTarget.Finding(description: "A document written as \(other) can't be read: \(error)")
            }
            // Old-style text and XML lose what they can't represent, but nothing more the second time.
            guard let second = try? again.write(as: other), second == text else {
                throw FuzzTarget.Finding(description: "A document written as \(other) reads back as another value.")
            }
            if other == .binary, format == .binary, again != value {
                throw FuzzTarget.Finding(description: "The binary document reads back as another value.")
            }
        }
    }
}
