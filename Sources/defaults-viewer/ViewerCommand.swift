#if Viewer
import DefaultsCommand
import DefaultsCore
import Glibc
import Linux
import PropertyList

/// A verb of the command that the page may run.
struct ViewerCommand {
    private let arguments: [String]
    let changesSomething: Bool

    /// The time after which a command is killed.
    private static let time = Duration.seconds(60)

    /// The size of the longest argument that Linux passes to a program, in bytes (MAX_ARG_STRLEN, with the final NUL).
    private static let longest = 128 << 10

    /// The reason why the arguments can't be passed to a program, if any.
    private var problem: String? {
        // A program's argument would end at the NUL, and name another key.
        if arguments.contains(where: { $0.utf8.contains(0) }) {
            return "A domain or key whose name has a NUL can't be looked up."
        }
        let isLong = arguments.contains { $0.utf8.count >= Self.longest }
        return isLong ? "A name of 128 kB or more can't be looked up." : nil
    }

    /// Reads what the page asks for; fails if there is no such verb, or an operand is missing.
    init?(_ request: DomainValues) {
        func text(_ name: String) -> String? { if case .string(let text)? = request[name] { text } else { nil } }
        let location = text("host").map { ["-host", $0] } ?? []
        switch text("verb") {
        case "doctor": (arguments, changesSomething) = (["doctor", "--json"], false)
        case "fleet": (arguments, changesSomething) = (["fleet", "status", "--json"], false)
        case "describe":
            guard let domain = text("domain") else { return nil }
            let operands = domain.isEmpty ? [] : ["--", domain] + [text("key")].compactMap(\.self)
            (arguments, changesSomething) = (location + ["describe", "--json"] + operands, false)
        case "explain":
            guard let domain = text("domain"), let key = text("key") else { return nil }
            (arguments, changesSomething) = (location + ["explain", "--json", "--", domain, key], false)
        case "read":
            guard let domain = text("domain"), let time = text("at") else { return nil }
            (arguments, changesSomething) = (location + ["read", "--json", "--at=\(time)", "--", domain], false)
        case "diff":
            guard let domain = text("domain"), let since = text("since"), let until = text("until") else { return nil }
            let times = ["--since=\(since)"] + (until.isEmpty ? [] : ["--until=\(until)"])
            (arguments, changesSomething) = (location + ["diff", "--json"] + times + ["--", domain], false)
        case "record":
            guard let domain = text("domain"), let since = text("since") else { return nil }
            let until = text("until").flatMap { $0.isEmpty ? nil : ["--until=\($0)"] } ?? []
            let range = since.isEmpty ? ["--all"] : ["--since=\(since)"] + until
            let hidden = request["secrets"] == .boolean(false) ? ["--without-secrets"] : []
            let operands = ["--", GlobPattern.exactly(domain).text]
            (arguments, changesSomething) = (location + ["record"] + range + hidden + operands, false)
        case "log":
            guard case .integer(let count)? = request["count"], let domain = text("domain"), let key = text("key"),
                let program = text("program"), let since = text("since"), let until = text("until")
            else { return nil }
            let options = [("--by", program), ("--since", since), ("--until", until)].filter { !$1.isEmpty }.map {
                "\($0)=\($1)"
            }
            let names = key.isEmpty ? (domain.isEmpty ? [] : [domain]) : [domain.isEmpty ? "*" : domain, key]
            let number = ["--json", "-n", "\(count)"]
            (arguments, changesSomething) = (location + ["log"] + number + options + ["--"] + names, false)
        case "undo":
            guard case .integer(let number)? = request["number"], case .boolean(let isTried)? = request["dryRun"]
            else { return nil }
            let options = ["--color=never"] + (isTried ? ["--dry-run"] : [])
            (arguments, changesSomething) = (["undo"] + options + ["\(number)"], !isTried)
        default: return nil
        }
    }

    /// Runs the command on a thread of its own, and calls the receiver with its outcome, as JSON: `status`, which is
    /// `null` if it took too long; `output`, which is text, or data if it isn't UTF-8; and `errors`.
    ///
    /// - Returns: Whether a thread could be started.
    func run(_ command: String, _ receiver: @escaping @Sendable (String) -> Void) -> Bool {
        if let problem {
            receiver(Self.outcome("\(ExitStatus.usage.rawValue)", errors: problem))
            return true
        }
        let arguments = ["defaults"] + arguments
        return DetachedThread.start {
            do throws(Failure) {
                let run = try ProgramOutput.run(command, arguments, within: Self.time, limit: 64 << 20)
                let output = String(validating: run.output, as: UTF8.self).map { PropertyListValue.string($0) }
                receiver(
                    JSONText.object([
                        ("status", run.status.map { "\($0)" } ?? "null"),
                        ("output", JSONText.of(output ?? .data(run.output))),
                        ("errors", JSONText.of(.string(String(decoding: run.errors, as: UTF8.self)))),
                    ]))
            } catch {
                receiver(Self.outcome("null", errors: error.message))
            }
        }
    }

    /// Returns the outcome of a command without output.
    private static func outcome(_ status: String, errors: String) -> String {
        JSONText.object([("status", status), ("output", "\"\""), ("errors", JSONText.of(.string(errors)))])
    }
}
#endif
