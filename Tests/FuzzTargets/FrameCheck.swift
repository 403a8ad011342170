import DefaultsCore
import PropertyList

/// A check that a stream gives the same messages and the same error however it is cut into pieces.
enum FrameCheck {
    static func check(_ bytes: [UInt8]) throws(FuzzTarget.Finding) {
        guard let first = bytes.first else { return }
        let stream = Array(bytes.dropFirst())
        let whole = decode([stream])
        let size = max(1, Int(first))
        let pieces = stride(from: 0, to: stream.count, by: size).map {
            Array(stream[$0..<min($0 + size, stream.count)])
        }
        let cut = decode(pieces)
        guard whole.messages == cut.messages, whole.error == cut.error else {
            throw FuzzTarget.Finding(description: "The stream differs when cut into pieces of \(size) bytes.")
        }
    }

    private static func decode(_ pieces: [[UInt8]]) -> (messages: [PropertyListValue], error: String?) {
        var decoder = FrameDecoder(limits: PropertyListLimits(depth: 64, bytes: 1 << 20, objects: 10_000))
        var messages: [PropertyListValue] = []
        for piece in pieces {
            decoder.append(piece)
            do throws(DefaultsError) {
                while let fields = try decoder.next() { messages.append(.dictionary(fields.values)) }
            } catch {
                return (messages, error.description)
            }
        }
        return (messages, nil)
    }
}
