import DefaultsCore
import Glibc
import Linux
import PropertyList

/// A layer that has a key, with its file and the key's value, as `defaults explain` prints them.
struct LayerLine {
    let domain: Domain
    let path: String
    /// The file's format, for JSON; `nil` if it is unknown.
    let format: DocumentFormat?
    /// Whether it is a file outside the preferences directory, which is in no app's search list.
    let isElsewhere: Bool
    let value: PropertyListValue
    /// Whether its value is the one in effect.
    let wins: Bool

    /// The name of the layer in the output.
    var layer: String {
        if isElsewhere { return "file" }
        let location =
            switch (domain.user, domain.host) {
            case (.managed, _): "managed"
            case (.any, _): "system"
            case (.current, .any): "you, any host"
            case (.current, .only): "you, this host"
            }
        return domain.name.isGlobal ? "\(location), all apps" : location
    }

    /// Returns the format of a file, as far as its beginning tells; `nil` if it can't be read.
    static func format(ofFile path: String) -> DocumentFormat? {
        // A read that can be seen would count as one by a program that may write old values back.
        guard let file = try? FileDescriptor(openingUnseen: path, O_RDONLY | O_NONBLOCK),
            let bytes = try? file.read(upTo: 1_024), !bytes.isEmpty
        else { return nil }
        return switch PropertyListFormat.detect(bytes) {
        case .xml: .xml
        case .binary: .binary
        case .oldStyle: .oldStyle
        }
    }

    /// The layer as a JSON object.
    var json: String {
        JSONText.object(
            [("layer", JSONText.string(layer))] + ChangeJSON.location(domain) + [
                ("file", JSONText.string(path)),
                ("format", format.map { JSONText.string($0.rawValue) } ?? "null"),
                ("wins", wins ? "true" : "false"), ("value", JSONText.of(value)),
            ])
    }

    /// Returns the layers of a key, and its default in the manifest, as lines with aligned columns.
    static func text(
        _ layers: [LayerLine], default standard: (path: String, value: PropertyListValue)?, in style: ChangeText
    ) -> String {
        var rows = layers.map {
            Row(start: $0.wins ? "* \($0.layer)" : "  \($0.layer)", path: $0.path, value: $0.value, wins: $0.wins)
        }
        if let (path, value) = standard {
            rows.append(Row(start: "  default", path: path, value: value, wins: false))
        }
        return lines(rows, in: style)
    }

    /// Returns keys and the layers that win as lines with aligned columns.
    static func text(_ keys: [(key: String, layer: LayerLine)], in style: ChangeText) -> String {
        let names = keys.map { $0.key.isEmpty ? "\"\"" : $0.key.printable }
        let width = names.map(\.count).max() ?? 0
        return lines(
            zip(names, keys).map {
                Row(
                    start: "\($0.padded(to: width))  \($1.layer.layer)", path: $1.layer.path, value: $1.layer.value,
                    wins: $1.layer.wins)
            }, in: style)
    }

    /// A line: some text, a file and a value.
    private struct Row {
        let start, path: String
        let value: PropertyListValue
        let wins: Bool
    }

    private static func lines(_ rows: [Row], in style: ChangeText) -> String {
        let width = rows.map(\.start.count).max() ?? 0
        let pathWidth = rows.map(\.path.printable.count).max() ?? 0
        return rows.map { row in
            let start = "\(row.start.padded(to: width))  \(row.path.printable.padded(to: pathWidth))  "
            let value = style.shown(row.value)
            return row.wins
                ? style.colored(start, in: .bold) + style.colored(value, in: .green) + "\n"
                : style.colored("\(start)\(value)", in: .dim) + "\n"
        }.joined()
    }
}
