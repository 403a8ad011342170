#if Viewer
import DefaultsCommand
import DefaultsCore
import NIOCore
import NIOHTTP1
import PropertyList

/// A browser's connection: one request after another.
final class HTTPConnection: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let viewer: Viewer
    private var head: HTTPRequestHead?
    private var body = ByteBuffer()
    private var stream: EventStream?
    private var limit: Scheduled<Void>?
    /// Whether a refused request's rest is ignored.
    private var isOver = false
    /// Whether the request has the cookie.
    private var isAdmitted = false

    init(_ viewer: Viewer) { self.viewer = viewer }

    // MARK: The connection

    func channelActive(context: ChannelHandlerContext) { limitTime(context) }

    func channelInactive(context: ChannelHandlerContext) {
        limit?.cancel()
        stream?.end()
        stream = nil
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { stream?.resume() }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    /// Closes a connection on which no whole request arrives in time.
    private func limitTime(_ context: ChannelHandlerContext) {
        limit?.cancel()
        let channel = context.channel
        limit = context.eventLoop.scheduleTask(in: Viewer.Limits.request) { channel.close(promise: nil) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if isOver { return }
        switch unwrapInboundIn(data) {
        case .head(let new):
            head = new
            body.clear()
            let request = Access.Request(new)
            let access = viewer.state.value.access
            isAdmitted = false
            if let refusal = access.refusal(of: request) {
                refuse(context, refusal)
            } else if new.method != .GET, new.method != .POST {
                end(context, with: .methodNotAllowed, "Only GET and POST are answered.")
            } else if new.method == .GET, new.hasBody {
                // So nothing is stored for a request without a cookie.
                end(context, with: .badRequest, "Only POST has a body.")
            } else if new.method == .POST,
                new.headers[canonicalForm: "content-type"].map(String.init)
                    != ["application/json"]
            {
                end(context, with: .unsupportedMediaType, "A request's body must be JSON.")
            } else {
                isAdmitted = !access.isEntrance(request)
            }
        case .body(var part):
            body.writeBuffer(&part)
            if body.readableBytes > Viewer.Limits.body {
                end(context, with: .payloadTooLarge, "The request is too large.")
            }
        case .end:
            limit?.cancel()
            if let head { answer(head, context) }
        }
    }

    // MARK: Answers

    private func answer(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        let path = head.path.dropFirst(viewer.state.value.access.path.count)
        switch (head.method, path) {
        case (.GET, "enter"): enter(head, context)
        case (.GET, "events"): follow(head, context)
        case (.GET, _):
            guard let file = PageFile("\(path)") else {
                return respond(context, with: .notFound, text: "There is no such page.")
            }
            respond(context, with: .ok, type: file.type, ByteBuffer(bytes: file.bytes))
        case (.POST, "ask"): ask(context)
        case (.POST, "run"): run(context)
        case (.POST, "value"): read(context)
        default: respond(context, with: .notFound, text: "There is no such page.")
        }
    }

    /// Returns a parameter of an address, as it is written there.
    private static func parameter(_ name: String, of uri: String) -> String? {
        let pairs = uri.drop { $0 != "?" }.dropFirst().split(separator: "&")
        return pairs.first { $0.hasPrefix("\(name)=") }.map { String($0.dropFirst(name.count + 1)) }
    }

    /// Exchanges the token for the cookie.
    private func enter(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        guard let token = Self.parameter("token", of: head.uri),
            let cookie = viewer.state.value.access.enter(with: token)
        else { return refuse(context, .token) }
        viewer.state.value.whenEntered()
        // After a redirection, the browser would take the next request for one of the file's and send no cookie. So
        // this is the page itself, which then replaces its address.
        let page = PageFile.index(showing: viewer.place)
        respond(context, with: .ok, type: page.type, ByteBuffer(bytes: page.bytes), cookie: cookie)
    }

    private func follow(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        let headers = Self.headers(type: "text/event-stream")
        context.writeAndFlush(
            wrapOutboundOut(.head(HTTPResponseHead(version: head.answered, status: .ok, headers: headers))),
            promise: nil)
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        let new = EventStream(viewer) { [self] text in
            bound.value.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(text))), promise: nil)
        } isRead: {
            bound.value.channel.isWritable
        } close: {
            bound.value.close(promise: nil)
        }
        stream = new
        viewer.add(new)
        new.begin(after: head.headers.first(name: "last-event-id") ?? Self.parameter("after", of: head.uri))
    }

    /// Relays a request to the agent.
    private func ask(_ context: ChannelHandlerContext) {
        let types: Set<String> = ["read", "status", "edit"]
        guard var request = fields(context) else { return }
        guard case .string(let type)? = request["type"], types.contains(type), request["request"] == nil else {
            return respond(context, with: .badRequest, text: "There is no such request.")
        }
        if viewer.isReadOnly, type == "edit" { return respondReadOnly(context) }
        // In the history, edits on the page differ from those of other programs that use the bridge.
        if type == "edit" { request["origin"] = ["program": "defaults-viewer"] }
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        // A stopped agent makes an edit when it resumes, so the edit hasn't failed before.
        let isEdit = type == "edit"
        let limit: TimeAmount? = isEdit ? nil : type == "status" ? Viewer.Limits.status : Viewer.Limits.values
        viewer.state.value.bridge.ask(request, within: limit, on: viewer.loop) { [self] answer in
            switch answer {
            case .message(let message): respond(bound.value, with: .ok, type: "application/json", message.text)
            case .silence: respond(bound.value, with: .gatewayTimeout, text: "The agent is not answering.")
            case .end:
                let edit = "This edit got no answer. It may have been made. Look at the value before you try again. "
                let reason = "The command `defaults bridge` has ended. Run `defaults doctor`."
                respond(bound.value, with: .badGateway, text: isEdit ? edit + reason : reason)
            }
        }
    }

    /// Answers JSON that a person has typed with its value, or with a failure that says where it is wrong.
    private func read(_ context: ChannelHandlerContext) {
        let answer: DomainValues
        do throws(Failure) {
            answer = ["value": try JSONReader.read(Array(body.readableBytesView), limits: Frame.requestLimits)]
        } catch {
            answer = ["type": "failure", "message": .string(error.message)]
        }
        respond(context, with: .ok, type: "application/json", ByteBuffer(string: JSONText.of(.dictionary(answer))))
    }

    /// Runs a verb of the command.
    private func run(_ context: ChannelHandlerContext) {
        guard let request = fields(context) else { return }
        guard let verb = ViewerCommand(request) else {
            return respond(context, with: .badRequest, text: "There is no such command.")
        }
        if viewer.isReadOnly, verb.changesSomething { return respondReadOnly(context) }
        let bound = NIOLoopBound((context, self), eventLoop: context.eventLoop)
        let isStarted = verb.run(viewer.state.value.bridge.command) { [loop = viewer.loop] answer in
            loop.execute {
                let (context, connection) = bound.value
                connection.respond(context, with: .ok, type: "application/json", ByteBuffer(string: answer))
            }
        }
        if !isStarted { respond(context, with: .serviceUnavailable, text: "No thread can be started.") }
    }

    /// Parses the body, or says what is wrong with it.
    private func fields(_ context: ChannelHandlerContext) -> DomainValues? {
        do {
            let value = try JSONReader.read(Array(body.readableBytesView), limits: Frame.requestLimits)
            if case .dictionary(let fields) = value { return fields }
            respond(context, with: .badRequest, text: "A request must be an object.")
        } catch {
            respond(context, with: .badRequest, text: error.message)
        }
        return nil
    }

    private func respondReadOnly(_ context: ChannelHandlerContext) {
        respond(context, with: .forbidden, text: "This page was opened with --read-only.")
    }

    // MARK: Responses

    private static func headers(type: String, styles: String = "'self'") -> HTTPHeaders {
        [
            "Content-Type": type, "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY", "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Content-Security-Policy":
                "default-src 'none'; script-src 'self'; style-src \(styles); connect-src 'self'; img-src 'self'; "
                + "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
        ]
    }

    /// Refuses a request that has no access: with a page if the browser is to show one.
    private func refuse(_ context: ChannelHandlerContext, _ reason: Access.Refusal) {
        guard head?.headers[canonicalForm: "accept"].contains("text/html") == true else {
            return end(context, with: .forbidden, reason.rawValue)
        }
        isOver = true
        limit?.cancel()
        let page = PageFile.refusal(reason.rawValue)
        respond(context, with: .forbidden, type: page.type, ByteBuffer(bytes: page.bytes), styles: "'unsafe-inline'")
    }

    /// Refuses a request, and closes the connection.
    private func end(_ context: ChannelHandlerContext, with status: HTTPResponseStatus, _ text: String) {
        isOver = true
        limit?.cancel()
        respond(context, with: status, text: text)
    }

    private func respond(_ context: ChannelHandlerContext, with status: HTTPResponseStatus, text: String) {
        respond(context, with: status, type: "text/plain; charset=utf-8", ByteBuffer(string: text + "\n"))
    }

    private func respond(
        _ context: ChannelHandlerContext, with status: HTTPResponseStatus, type: String, _ body: ByteBuffer,
        cookie: String? = nil, styles: String = "'self'"
    ) {
        var headers = Self.headers(type: type, styles: styles)
        headers.add(name: "Content-Length", value: "\(body.readableBytes)")
        if let cookie { headers.add(name: "Set-Cookie", value: cookie) }
        if isAdmitted {
            headers.add(name: "Viewer", value: viewer.state.value.access.number)
            // The browser's clock can be another one.
            headers.add(name: "Viewer-Time", value: "\(Timestamp.now().nanoseconds / 1_000_000)")
        }
        let version = head?.answered ?? .http1_1
        let closes = isOver || version != .http1_1 || head?.isKeepAlive != true
        if closes { headers.add(name: "Connection", value: "close") }
        let response = HTTPResponseHead(version: version, status: status, headers: headers)
        context.write(wrapOutboundOut(.head(response)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
        let channel = context.channel
        context.writeAndFlush(wrapOutboundOut(.end(nil))).whenComplete { _ in
            if closes { channel.close(promise: nil) }
        }
        head = nil
        if !closes { limitTime(context) }
    }
}

extension HTTPRequestHead {
    fileprivate var path: String { String(uri.prefix { $0 != "?" }) }
    fileprivate var hasBody: Bool {
        !headers["transfer-encoding"].isEmpty || headers["content-length"].contains { $0 != "0" }
    }
    /// The version of an answer: HTTP/1.0 has no chunks.
    fileprivate var answered: HTTPVersion { version == .http1_0 ? .http1_0 : .http1_1 }
}

extension Access.Request {
    fileprivate init(_ head: HTTPRequestHead) {
        self.init(
            path: head.path, hosts: head.headers["host"], origins: head.headers["origin"],
            cookies: head.headers["cookie"],
            isPost: head.method != .GET)
    }
}
#endif
