#if Viewer
/// A file of the page.
struct PageFile {
    let type: String
    let bytes: [UInt8]

    /// Finds a file by the path of a request.
    init?(_ path: String) {
        switch path {
        case "/": (type, bytes) = ("text/html; charset=utf-8", PackageResources.index_html)
        case "/viewer.css":
            (type, bytes) = ("text/css; charset=utf-8", Self.withoutComments(PackageResources.viewer_css))
        case "/icon.svg", "/favicon.ico": (type, bytes) = ("image/svg+xml", PackageResources.icon_svg)
        default:
            guard let script = Self.script(path) else { return nil }
            (type, bytes) = ("text/javascript; charset=utf-8", Self.withoutComments(script))
        }
    }

    /// Returns a file without indentation and lines of comments, which only its authors need.
    private static func withoutComments(_ bytes: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            let text = line.drop { $0 == UInt8(ascii: " ") }
            if text.starts(with: "//".utf8) { continue }
            result += text
            result.append(UInt8(ascii: "\n"))
        }
        return result
    }

    private static func script(_ path: String) -> [UInt8]? {
        switch path {
        case "/browse.js": PackageResources.browse_js
        case "/changes.js": PackageResources.changes_js
        case "/detail.js": PackageResources.detail_js
        case "/dom.js": PackageResources.dom_js
        case "/edit.js": PackageResources.edit_js
        case "/health.js": PackageResources.health_js
        case "/history.js": PackageResources.history_js
        case "/manifests.js": PackageResources.manifests_js
        case "/model.js": PackageResources.model_js
        case "/plots.js": PackageResources.plots_js
        case "/records.js": PackageResources.records_js
        case "/store.js": PackageResources.store_js
        case "/stream.js": PackageResources.stream_js
        case "/values.js": PackageResources.values_js
        case "/viewer.js": PackageResources.viewer_js
        case "/worker.js": PackageResources.worker_js
        default: nil
        }
    }
}
#endif
