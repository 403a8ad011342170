#if Viewer
/// A file of the page.
struct PageFile {
    let type: String
    let bytes: [UInt8]

    private init(type: String, bytes: [UInt8]) { (self.type, self.bytes) = (type, bytes) }

    /// Returns the page that shows a domain first, which is given as parameters of an address.
    static func index(showing place: String) -> PageFile {
        // The browser would record an address with a domain's name.
        let page = String(decoding: PackageResources.index_html, as: UTF8.self).replacing(
            "<html lang=\"en\">", with: "<html lang=\"en\" data-place=\"\(place.replacing("&", with: "&amp;"))\">",
            maxReplacements: 1)
        return PageFile(type: "text/html; charset=utf-8", bytes: Array(page.utf8))
    }

    /// Returns a page that says why a browser may not have what it asked for.
    ///
    /// Text between backquotes is code.
    static func refusal(_ reason: String) -> PageFile {
        let parts = reason.split(separator: "`", omittingEmptySubsequences: false)
        let text = parts.enumerated().map { $0.isMultiple(of: 2) ? "\($1)" : "<code>\($1)</code>" }.joined()
        // Such a browser can't load the style, either.
        let page = """
            <!doctype html>
            <html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
            <title>Preferences</title><style>\(String(decoding: PackageResources.viewer_css, as: UTF8.self))</style>
            <main class="refusal"><h1>Preferences</h1><p>\(text)</p></main>

            """
        return PageFile(type: "text/html; charset=utf-8", bytes: Array(page.utf8))
    }

    /// Finds a file by the end of a request's path.
    init?(_ path: String) {
        switch path {
        case "": (type, bytes) = ("text/html; charset=utf-8", PackageResources.index_html)
        case "viewer.css": (type, bytes) = ("text/css; charset=utf-8", PackageResources.viewer_css)
        case "icon.svg": (type, bytes) = ("image/svg+xml", PackageResources.icon_svg)
        default:
            guard let script = Self.script(path) else { return nil }
            (type, bytes) = ("text/javascript; charset=utf-8", script)
        }
    }

    private static func script(_ path: String) -> [UInt8]? {
        switch path {
        case "browse.js": PackageResources.browse_js
        case "changes.js": PackageResources.changes_js
        case "detail.js": PackageResources.detail_js
        case "difference.js": PackageResources.difference_js
        case "dom.js": PackageResources.dom_js
        case "domain.js": PackageResources.domain_js
        case "edit.js": PackageResources.edit_js
        case "health.js": PackageResources.health_js
        case "history.js": PackageResources.history_js
        case "key.js": PackageResources.key_js
        case "manifests.js": PackageResources.manifests_js
        case "model.js": PackageResources.model_js
        case "outline.js": PackageResources.outline_js
        case "plots.js": PackageResources.plots_js
        case "profiles.js": PackageResources.profiles_js
        case "records.js": PackageResources.records_js
        case "send.js": PackageResources.send_js
        case "server.js": PackageResources.server_js
        case "store.js": PackageResources.store_js
        case "stream.js": PackageResources.stream_js
        case "values.js": PackageResources.values_js
        case "viewer.js": PackageResources.viewer_js
        case "worker.js": PackageResources.worker_js
        default: nil
        }
    }
}
#endif
