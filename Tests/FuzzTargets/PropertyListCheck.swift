import PropertyList

/// What is read is written, and is then read as the same.
enum PropertyListCheck {
    static func check(_ bytes: [UInt8], as format: PropertyListFormat) throws(FuzzTarget.Finding) {
        guard let value = try? PropertyListValue.read(bytes, as: format) else { return }
        for other in [PropertyListFormat.xml, .binary, .oldStyle] {
            // What a format can't hold is an error of the writer's, and no finding.
            guard let text = try? value.write(as: other) else { continue }
            let again: PropertyListValue
            do throws(PropertyListError) {
                again = try PropertyListValue.read(text, as: other)
            } catch {
                throw FuzzTarget.Finding(description: "What was written as \(other) can't be read: \(error)")
            }
            // Old-style text and XML lose what they have no form for, and lose nothing more the second time.
            guard let second = try? again.write(as: other), second == text else {
                throw FuzzTarget.Finding(description: "What was written as \(other) is read as something else.")
            }
            if other == .binary, format == .binary, again != value {
                throw FuzzTarget.Finding(description: "The values differ.")
            }
        }
    }
}
