#if Viewer
import DefaultsCommand
import DefaultsCore
import Glibc
import NIOCore
import PropertyList

/// A page's stream of server-sent events, each of which has its cursor as `id`.
///
/// A browser that lost its connection names the last one, and the stream continues after it (WHATWG HTML, *Server-sent
/// events*). Confined to the event loop.
final class EventStream {
    private let viewer: Viewer
    /// Writes text to the page.
    private let write: (ByteBuffer) -> Void
    /// Returns whether the page has read so much that more may be written.
    private let isRead: () -> Bool
    private let close: () -> Void
    private var subscription: Int64?
    /// The last cursor that was sent, from which the stream can be resumed.
    private var cursor: String?
    /// Whether all values were sent, so that the stream can be resumed from its cursor.
    private var isResumable = false
    /// Whether the stream waits until the page has read.
    private var isWaiting = false

    init(
        _ viewer: Viewer, write: @escaping (ByteBuffer) -> Void, isRead: @escaping () -> Bool,
        close: @escaping () -> Void
    ) {
        (self.viewer, self.write, self.isRead, self.close) = (viewer, write, isRead, close)
    }

    /// Begins after a cursor, or with all values.
    func begin(after cursor: String?) {
        // Half a second after the connection is lost, the browser connects again.
        send("retry: 500\n\n")
        let first = JSONText.object([
            ("readOnly", "\(viewer.isReadOnly)"), ("pid", "\(getpid())"),
            ("host", JSONText.of(.string(HostIdentifier.current() ?? ""))),
            ("home", JSONText.of(.string(Environment.current.home ?? ""))),
            ("number", JSONText.of(.string(viewer.state.value.access.number))),
        ])
        send("event: begin\ndata: \(first)\n\n")
        if let welcome = viewer.state.value.bridge.welcome { announce(welcome) }
        self.cursor = cursor.flatMap { try? Cursor($0) }.map(\.description)
        subscribe()
    }

    /// Subscribes to what follows the cursor.
    private func subscribe() {
        let bridge = viewer.state.value.bridge
        let request: DomainValues = [
            "type": "subscribe", "from": .string(cursor ?? "snapshot"), "mode": "everything",
        ]
        // A stream that ends is begun again by the browser, with the last cursor.
        subscription = bridge.follow(request, on: viewer.loop) { [self] message in
            guard let message else { return fail(.string("The command `defaults bridge` has ended.")) }
            if message.type == "failure" {
                return fail(message.fields["message"] ?? .string("The subscription has failed."))
            }
            // The cursor of `subscribed` is later than the values that are still to come.
            send(message, isPlace: message.type != "subscribed")
            switch message.type {
            case "bookmark": isResumable = true
            // All values follow.
            case "gap": isResumable = false
            default: break
            }
            // A page that doesn't read must not make this process grow.
            if isResumable, !isRead() {
                unsubscribe()
                isWaiting = true
            }
        }
        if subscription == nil { fail(.string("The command `\(bridge.command)` can't be started.")) }
    }

    /// Resumes a stream that has waited for the page to read.
    func resume() {
        guard isWaiting else { return }
        isWaiting = false
        subscribe()
    }

    private func unsubscribe() {
        if let subscription { viewer.state.value.bridge.unfollow(subscription, on: viewer.loop) }
        subscription = nil
    }

    /// Says that the bridge has connected to an agent.
    func announce(_ welcome: Bridge.Message) { send(welcome, event: "welcome", isPlace: false) }

    private func fail(_ reason: PropertyListValue) {
        send("event: problem\ndata: \(JSONText.of(.dictionary(["message": reason])))\n\n")
        close()
    }

    private func send(_ message: Bridge.Message, event: String? = nil, isPlace: Bool = true) {
        var text = ByteBuffer()
        if let event { text.writeString("event: \(event)\n") }
        if isPlace, let cursor = message.cursor {
            self.cursor = cursor
            text.writeString("id: \(cursor)\n")
        }
        text.writeString("data: ")
        text.writeImmutableBuffer(message.text)
        text.writeString("\n\n")
        write(text)
    }

    private func send(_ text: String) { write(ByteBuffer(string: text)) }

    /// Ends the subscription of a page that is gone.
    func end() {
        unsubscribe()
        viewer.remove(self)
    }
}
#endif
