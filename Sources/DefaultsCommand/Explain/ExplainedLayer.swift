import DefaultsCore
import PropertyList

/// A layer that has a key: its file, and what it holds.
struct ExplainedLayer {
    let domain: Domain
    let path: String
    /// Whether it is a file that was named by its path, and no layer of an app's.
    let isElsewhere: Bool
    let value: PropertyListValue
    /// Whether its value is the one that counts.
    let wins: Bool

    /// What the layer is called.
    var layer: String {
        if isElsewhere { return "file" }
        let place =
            switch (domain.user, domain.host) {
            case (.managed, _): "managed"
            case (.any, _): "system"
            case (.current, .any): "you, any host"
            case (.current, .only): "you, this host"
            }
        return domain.name.isGlobal ? "\(place), all apps" : place
    }

    /// The layer as an object.
    var json: String {
        JSONText.object(
            [("layer", JSONText.string(layer))] + ChangeJSON.place(domain) + [
                ("file", JSONText.string(path)), ("wins", wins ? "true" : "false"), ("value", JSONText.of(value)),
            ])
    }

    /// Layers as lines with columns.
    static func text(_ layers: [ExplainedLayer], _ style: ChangeText) -> String {
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
