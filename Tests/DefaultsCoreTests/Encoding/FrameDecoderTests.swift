import PropertyList
import TestSupport
import Testing

@testable import DefaultsCore

@Suite("Frame decoder")
struct FrameDecoderTests {
    private let messages: [DomainValues] = [
        ["request": 1, "type": "domains"], [:], ["text": .string(String(repeating: "é", count: 40_000))],
        ["request": 2, "values": ["a": [1, 2.5, true]]],
    ]

    private func bytes() throws -> [UInt8] {
        try messages.flatMap { message throws in try Frame.encode(message) }
    }

    @Test(
        "Decoded messages don't depend on the size of the received chunks",
        arguments: [1, 2, 3, 5, 1_000, 70_000, 1 << 20])
    func chunks(size: Int) throws {
        var decoder = FrameDecoder(limits: PropertyListLimits())
        var received: [DomainValues] = []
        let bytes = try bytes() + bytes()
        for start in stride(from: 0, to: bytes.count, by: size) {
            decoder.append(bytes[start..<min(bytes.count, start + size)])
            while let message = try decoder.next() { received.append(message.values) }
        }
        #expect(received == messages + messages)
    }

    @Test("The memory for a large message is released even if part of the next message follows it")
    func room() throws {
        let large = try Frame.encode(["text": .string(String(repeating: "x", count: 1 << 20))])
        let next = try Frame.encode(["a": 1])
        var decoder = FrameDecoder(limits: PropertyListLimits())
        decoder.append(large + next.dropLast())
        #expect(try decoder.next() != nil)
        #expect(try decoder.next() == nil)
        #expect(decoder.bufferedBytes == next.count - 1)
        #expect(decoder.bytes.capacity < 1 << 16)
        decoder.append(next.suffix(1))
        #expect(try decoder.next()?.values == ["a": 1])
    }

    @Test("A frame consists of its big-endian length and a binary property list")
    func format() throws {
        let frame = try Frame.encode(["a": true])
        #expect(frame.prefix(4).elementsEqual([0, 0, 0, UInt8(frame.count - 4)]))
        #expect(frame.dropFirst(4).starts(with: "bplist00".utf8))
    }

    @Test("A length over the limit is rejected before the payload arrives")
    func tooLarge() throws {
        var decoder = FrameDecoder(limits: PropertyListLimits(bytes: 1_000))
        decoder.append([0, 0, 3])
        #expect(try decoder.next() == nil)
        decoder.append([0xE9])
        let error = #expect(throws: DefaultsError.self) { try decoder.next() }
        #expect(error == DefaultsError(.protocolViolation, "A frame announces 1001 bytes; the limit is 1000."))
        var json = FrameDecoder(limits: Frame.requestLimits)
        json.append(Array(#"{"type":"hello"}"#.utf8))
        let advice = #expect(throws: DefaultsError.self) { try json.next() }
        #expect(advice?.remedy?.contains("defaults bridge") == true)
        var other = FrameDecoder(limits: PropertyListLimits())
        other.append([0xFF, 0xFF, 0xFF, 0xFF])
        #expect(throws: DefaultsError.self) { try other.next() }
    }

    @Test(
        "A frame whose content isn't a binary dictionary is rejected",
        arguments: ["", "{ a = b; }", "<?xml version=\"1.0\"?><plist><dict/></plist>", "bplist00", "bplist15", "\0"])
    func otherContent(text: String) {
        var decoder = FrameDecoder(limits: PropertyListLimits())
        decoder.append([0, 0, 0, UInt8(text.utf8.count)] + Array(text.utf8))
        let error = #expect(throws: DefaultsError.self) { try decoder.next() }
        #expect(error?.code == .protocolViolation)
    }

    private static func decode(_ payload: [UInt8]) throws(DefaultsError) -> Fields? {
        var decoder = FrameDecoder(limits: Frame.requestLimits)
        decoder.append(Frame.bigEndian(UInt32(payload.count)) + payload)
        return try decoder.next()
    }

    @Test("A frame of arrays that share elements may stand for at most 16 values per byte")
    func sharing() throws {
        let small = sharedArrays(width: 10, levels: 3)
        #expect(try Self.decode(small) != nil)
        for levels in 4...6 {
            let large = sharedArrays(width: 10, levels: levels)
            let error = #expect(throws: DefaultsError.self) { try Self.decode(large) }
            #expect(error?.code == .protocolViolation)
            #expect(error?.description.contains("has more than \(16 * large.count) values") == true)
        }
    }

    @Test("A frame without shared arrays may hold as many values as fit in it")
    func withoutSharing() throws {
        let rows = PropertyListValue.array(Array(repeating: .array(Array(repeating: true, count: 1_000)), count: 300))
        #expect(try Self.decode(PropertyListValue.dictionary(["a": rows]).write(as: .binary))?.values == ["a": rows])
    }

    @Test(
        "Frames from Python's plistlib are accepted, including a list that occurs in several places",
        .enabled(if: ForeignProcess.hasPython))
    func python() throws {
        let program = """
            import plistlib, sys
            row = [0] * 1000
            value = {"rows": [row] * 8, "others": [[number] for number in range(2000)]}
            sys.stdout.write(plistlib.dumps(value, fmt=plistlib.FMT_BINARY).hex() + "\\n")
            """
        let line = try #require(try ForeignProcess(python: program, []).line())
        let digits = Array(line.utf8)
        let payload = try stride(from: 0, to: digits.count, by: 2).map { place in
            try #require(UInt8(String(decoding: digits[place..<place + 2], as: UTF8.self), radix: 16))
        }
        let row = PropertyListValue.array(Array(repeating: 0, count: 1_000))
        #expect(try Self.decode(payload)?.values["rows"] == .array(Array(repeating: row, count: 8)))
    }

    @Test("A frame with an array at the top level is rejected")
    func array() throws {
        let payload = try PropertyListValue.array([1]).write(as: .binary)
        var decoder = FrameDecoder(limits: PropertyListLimits())
        decoder.append(Frame.bigEndian(UInt32(payload.count)) + payload)
        let error = #expect(throws: DefaultsError.self) { try decoder.next() }
        #expect(error == DefaultsError(.protocolViolation, "A message must be a dictionary."))
    }

    @Test("A frame that is nested too deeply is rejected", arguments: [(30, true), (40, false), (400, false)])
    func deepNesting(depth: Int, isTaken: Bool) throws {
        var value = PropertyListValue.array([])
        for _ in 0..<depth - 2 { value = [value] }
        var decoder = FrameDecoder(limits: PropertyListLimits(depth: 32))
        decoder.append(try Frame.encode(["a": value]))
        #expect(((try? decoder.next()) != nil) == isTaken)
    }

    @Test("Any input results in a message or a DefaultsError, and never in a crash")
    func fuzz() throws {
        let app = AppIdentity(pid: 1, executable: "")
        let requests = try MessageTests.requests.map {
            try Frame.encode(NumberedRequest(number: 1, request: $0).fields)
        }
        let answers = try MessageTests.messages.map { try Frame.encode(NumberedMessage(number: 1, message: $0).fields) }
        let corpus = requests + answers
        var (taken, refused) = (0, 0)
        for seed in 0..<UInt64(30_000) {
            var random = PseudoRandom(seed: seed)
            var bytes = random.pick(corpus)
            for _ in 0...random.below(4) {
                let position = random.below(bytes.count)
                switch random.below(5) {
                case 0: bytes[position] ^= 1 << random.below(8)
                case 1: bytes[position] = random.pick([0, 1, 0x0F, 0x7F, 0x80, 0xFE, 0xFF])
                case 2: bytes.insert(UInt8(truncatingIfNeeded: random.next()), at: position)
                case 3: bytes.removeSubrange(position..<min(bytes.count, position + 1 + random.below(8)))
                default: bytes[max(0, bytes.count - 1 - random.below(32))] = UInt8(truncatingIfNeeded: random.next())
                }
                if bytes.isEmpty { bytes = [0] }
            }
            if bytes.count >= 4, !random.oneIn(4) {
                bytes.replaceSubrange(0..<4, with: Frame.bigEndian(UInt32(bytes.count - 4)))
            }
            var decoder = FrameDecoder(limits: PropertyListLimits(depth: 32, bytes: 1 << 20, objects: 10_000))
            decoder.append(bytes)
            do throws(DefaultsError) {
                while let fields = try decoder.next() {
                    if fields.values["client"] == nil, fields.values["cursor"] != nil {
                        _ = try NumberedMessage(fields)
                    } else {
                        _ = try NumberedRequest(fields, from: app)
                    }
                    taken += 1
                }
            } catch {
                refused += 1
                #expect(error.description.hasSuffix("."), "seed \(seed): \(error)")
            }
        }
        #expect(taken > 500 && refused > 500, "\(taken) accepted, \(refused) rejected")
    }
}
