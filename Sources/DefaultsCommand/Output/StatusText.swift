import DefaultsCore
import Manifests
import PropertyList

/// The agent's status as text.
enum StatusText {
    static func of(_ status: Fields) -> String {
        let watch = Fields((try? status.dictionary("watch")) ?? [:])
        let companions = Fields((try? watch.dictionary("companions")) ?? [:])
        let system = try? status.systemDirectories()
        let layers =
            (system?.anyUser ?? []).map { ("system", $0) }
            + [system?.managed].compactMap(\.self).map { ("managed", $0) }
        var lines = [
            "agent        \(process(status)), version \(text(status, "version")), up \(duration(status))",
            "program      \(text(status, "executable"))",
            "directory    \(text(status, "directory"))",
        ]
        lines += layers.map { title, path in
            "\(title.padded(to: 12)) \(path.printable) (\(text(companions, path)))"
        }
        lines += [
            "socket       \(text(status, "socket"))",
            "watching     \(text(watch, "mode")) (\(number(watch, "watches").counting("watch", plural: "watches")), "
                + "\(number(watch, "rescans").counting("rescan")), "
                + "\(number(watch, "overflows").counting("overflow")), "
                + "\(text(watch, "rearms")) re-armed)",
            "domains      \(text(status, "domains"))",
            "revision     \(text(status, "revision")) (cursor \(text(status, "cursor")))",
            "connections  \(text(status, "connections"))",
        ]
        lines += section("history", of: status, key: "history") {
            "\(text($0, "path")), \(((try? $0.unsigned("bytes")) ?? 0).byteCount)"
        }
        lines += section("subscribers", of: status, key: "subscribers") {
            let domains = ((try? $0.array("domains")) ?? []).compactMap { value in
                if case .string(let name) = value { name.printable } else { nil }
            }
            return "pid \(text($0, "pid")) \(text($0, "executable")): "
                + "\(domains.isEmpty ? "all domains" : domains.joined(separator: ", ")); \(text($0, "lag")) behind"
        }
        lines += section("forced", of: status, key: "forced") {
            let keys = ((try? $0.array("keys")) ?? []).compactMap { if case .string(let key) = $0 { key } else { nil } }
            return "\((try? $0.domain().name.description.printable) ?? "?"): \(ChangeText.list(keys))"
        }
        lines += section("violations", of: status, key: "violations") {
            "\(domain($0)): " + ((try? Violation($0))?.map(\.description.printable) ?? text($0, "rule"))
        }
        lines += section("pending", of: status, key: "pending") {
            "\(domain($0)): \(number($0, "edits").counting("edit")) not saved yet"
        }
        lines += section("errors", of: status, key: "errors") {
            // An error without a domain concerns a directory.
            ($0.values["domain"] == nil ? "" : "\(domain($0)): ") + text($0, "message")
        }
        return lines.map { $0 + "\n" }.joined()
    }

    private static func section(
        _ title: String, of status: Fields, key: String, _ line: (Fields) -> String
    ) -> [String] {
        let entries = ((try? status.array(key)) ?? []).compactMap { try? Fields($0, of: key) }
        if entries.isEmpty { return ["\(title.padded(to: 12)) none"] }
        return entries.map { "\(title.padded(to: 12)) \(line($0))" }
    }

    private static func process(_ status: Fields) -> String {
        guard status.values["pid"] == nil, status.values["ownPID"] != nil else { return "pid \(text(status, "pid"))" }
        return "pid \(text(status, "ownPID")) in another PID namespace, not visible here"
    }

    private static func number(_ fields: Fields, _ key: String) -> Int64 { (try? fields.integer(key)) ?? 0 }

    private static func text(_ fields: Fields, _ key: String) -> String {
        switch fields.values[key] {
        case .string(let text)?: text.printable
        case let value?: JSONText.of(value)
        case nil: "?"
        }
    }

    private static func domain(_ fields: Fields) -> String {
        (try? fields.domain().description.printable) ?? "?"
    }

    private static func duration(_ status: Fields) -> String {
        guard case .real(let seconds)? = status.values["uptime"],
            let whole = Int(exactly: seconds.rounded(.towardZero))
        else { return "?" }
        return whole < 120 ? "\(whole) s" : "\(whole / 3_600) h \(whole / 60 % 60) min"
    }
}
