#if Viewer
import DefaultsCore

/// The rules by which the page is served to one browser of the user, and to nobody else.
///
/// The loopback interface is open to all users and to every page in every browser. So a request must name this server
/// as its host, which a page of another server can't make the browser do; it needs the cookie that only the holder of
/// the entrance token gets; and what changes something must come from this server's own page.
struct Access {
    /// A reason why a request isn't answered.
    enum Refusal: String {
        case host = "This server has another name."
        case origin = "This request comes from another page."
        case cookie = "Open this page with `defaults view`: only its browser may see your preferences."
        case token = "This address has already been used. Run `defaults view` again."
    }

    /// A request's header fields that count.
    struct Request {
        var hosts: [String]
        var origins: [String]
        var cookies: [String]
        /// Whether the request may change something.
        var isPost: Bool
    }

    private let port: Int
    /// The token of the address that works once; `nil` once it was used.
    private(set) var token: String?
    private let session = Self.secret()

    init(port: Int) { (self.port, token) = (port, Self.secret()) }

    var host: String { "127.0.0.1:\(port)" }
    /// The cookie's name has the port, since browsers send a host's cookies to all of its ports.
    private var cookieName: String { "defaults-viewer-\(port)" }

    /// Returns the reason to refuse a request, if any; `isEntrance` is whether it is the one that brings the token.
    func refusal(of request: Request, isEntrance: Bool) -> Refusal? {
        if request.hosts != [host] { return .host }
        // A browser names the origin of each POST.
        if request.isPost && request.origins.isEmpty || request.origins.contains(where: { $0 != "http://\(host)" }) {
            return .origin
        }
        if isEntrance { return nil }
        let cookies = request.cookies.joined(separator: ";").split { $0 == ";" || $0 == " " }
        return cookies.contains { Self.areSame(String($0), "\(cookieName)=\(session)") } ? nil : .cookie
    }

    /// Takes the token, and returns the cookie for it; `nil` if it isn't the token or was used before.
    mutating func enter(with given: String) -> String? {
        guard let token, Self.areSame(given, token) else { return nil }
        self.token = nil
        return "\(cookieName)=\(session); HttpOnly; SameSite=Strict; Path=/"
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
