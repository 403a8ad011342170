import DefaultsCore
import PropertyList

/// A line of `defaults explain`: a layer that has a key, its file and the key's value.
struct LayerLine {
    let domain: Domain
    let path: String
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

    /// The layer as a JSON object.
    var json: String {
        JSONText.object(
            [("layer", JSONText.string(layer))] + ChangeJSON.location(domain) + [
                ("file", JSONText.string(path)), ("wins", wins ? "true" : "false"), ("value", JSONText.of(value)),
            ])
    }

    /// Returns layers as lines with aligned columns.
    static func text(_ layers: [LayerLine], _ style: ChangeText) -> String {
        let width = layers.map(\.layer.count).max() ?? 0
        let paths = layers.map { $0.path.printable }
        let pathWidth = paths.map(\.count).max() ?? 0
        return zip(layers, paths).map { layer, path in
            let start = "\(padded(layer.layer, to: width))  \(padded(path, to: pathWidth))  "
            let value = style.shown(layer.value)
            return layer.wins
                ? style.colored("* \(start)", .bold) + style.colored(value, .green) + "\n"
                : style.colored("  \(start)\(value)", .dim) + "\n"
        }.joined()
    }

    private static func padded(_ text: String, to width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}
