#if Viewer
import DefaultsCore

/// The rules by which the page is served to one browser of the user, and to no other program.
///
/// The loopback interface is open to all users and to every page in every browser. So a request must name this machine
/// as its host, which a page of another site can't make the browser do. It needs the secret path, and the cookie that
/// only the holder of the entrance token gets. A request that changes something must come from this server's own page.
struct Access {
    /// A reason why a request isn't answered.
    enum Refusal: String {
        case host = """
            Open this page at 127.0.0.1 or localhost, with any port. To open it on another machine, forward its port \
            there: `ssh -L PORT:127.0.0.1:PORT HOST`.
            """
        case origin = "This request comes from another page."
        case cookie = "Open this page with `defaults view`: only its browser may see your preferences."
        case token = "This address has already been used. Run `defaults view` again."
    }

    /// The parts of a request that count.
    struct Request {
        var path: String
        var hosts: [String]
        var origins: [String]
        var cookies: [String]
        /// Whether the request may change something.
        var isPost: Bool
    }

    /// The secret path below which everything is.
    ///
    /// Browsers send a host's cookies to all of its ports, and take them from all, but only for the cookie's path.
    let path = "/\(Self.secret().prefix(32))/"
    /// The number that tells this viewer from a program that takes its port later.
    ///
    /// It is only in answers to requests with the cookie, and pages never send it.
    let number = Self.secret()
    /// The token of the address that works once; `nil` once it was used.
    private(set) var token: String? = Self.secret()
    private let session = Self.secret()

    /// The path of the address that works once.
    private var entrance: String { "\(path)enter" }
    private var cookie: String { "defaults-viewer=\(session)" }

    /// The address that works once, on a port; `nil` once it was used.
    func address(port: Int) -> String? { token.map { "http://127.0.0.1:\(port)\(entrance)?token=\($0)" } }

    /// Returns whether the request is the one that brings the token.
    func isEntrance(_ request: Request) -> Bool { !request.isPost && Self.areSame(request.path, entrance) }

    /// Returns the reason to refuse a request, if any.
    func refusal(of request: Request) -> Refusal? {
        guard request.hosts.count == 1, let host = request.hosts.first, Self.isLoopback(host) else { return .host }
        // A browser names the origin of each POST.
        if request.isPost && request.origins.isEmpty || request.origins.contains(where: { $0 != "http://\(host)" }) {
            return .origin
        }
        if isEntrance(request) { return nil }
        let cookies = request.cookies.joined(separator: ";").split { $0 == ";" || $0 == " " }
        let isInside = Self.areSame(String(request.path.prefix(path.count)), path)
        return isInside && cookies.contains { Self.areSame(String($0), cookie) } ? nil : .cookie
    }

    /// Takes the token, and returns the cookie for it; `nil` if it isn't the token or was used before.
    mutating func enter(with given: String) -> String? {
        guard let token, Self.areSame(given, token) else { return nil }
        self.token = nil
        return "\(cookie); HttpOnly; SameSite=Strict; Path=\(path)"
    }

    /// Returns whether a host names the loopback interface, whose names no other site can take.
    ///
    /// A forwarded port may be another one.
    private static func isLoopback(_ host: String) -> Bool {
        ["127.0.0.1", "localhost", "[::1]"].contains { name in
            guard host.hasPrefix(name) else { return false }
            let rest = host.dropFirst(name.count)
            return rest.isEmpty || rest.first == ":" && rest.dropFirst().allSatisfy { ("0"..."9").contains($0) }
        }
    }

    /// Compares in a time that doesn't depend on the contents.
    private static func areSame(_ first: String, _ second: String) -> Bool {
        let (first, second) = (Array(first.utf8), Array(second.utf8))
        guard first.count == second.count else { return false }
        return zip(first, second).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }

    /// Returns 256 random bits from the system.
    static func secret() -> String {
        var random = SystemRandomNumberGenerator()
        return (0..<4).map { _ in
            let digits = String(random.next(), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }
}
#endif
