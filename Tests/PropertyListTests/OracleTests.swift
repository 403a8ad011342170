import Foundation
import PropertyList
import TestSupport
import Testing

@Suite("Agreement with other readers and writers")
struct OracleTests {
    @Test("Foundation reads all our formats as the same values", arguments: 1...60 as ClosedRange<UInt64>)
    func foundationReads(seed: UInt64) throws {
        var values = RandomValues(seed: seed, without: [.uid])
        let value = values.dictionary()
        let binary = try value.write(as: .binary)
        #expect(readByFoundation(binary)?.widened == value.widened)
        values.without = [.uid, .oddText]
        let textual = values.dictionary()
        #expect(readByFoundation(try textual.write(as: .xml)) == textual.asStored(in: .xml))
        let old = values.dictionary()
        #expect(readByFoundation(try old.write(as: .oldStyle)) == old.asStored(in: .oldStyle))
    }

    @Test("Foundation's XML is read as the same values", arguments: 1...60 as ClosedRange<UInt64>)
    func foundationWrites(seed: UInt64) throws {
        var values = RandomValues(seed: seed, without: [.uid, .oddText, .real32])
        let value = values.dictionary()
        let xml = try PropertyListValue(parsing: writtenByFoundation(value, .xml))
        #expect(xml.withoutSignOfZero == value.asStored(in: .xml).withoutSignOfZero)
    }

    @Test("Foundation's binary is read as the same values", arguments: 1...60 as ClosedRange<UInt64>)
    func foundationWritesBinary(seed: UInt64) throws {
        // Foundation merges numbers that are equal across types, so reals are compared in XML only.
        var values = RandomValues(seed: seed, without: [.uid, .reals])
        let value = values.dictionary()
        #expect(try PropertyListValue(parsing: writtenByFoundation(value, .binary)) == value)
    }

    @Test("Our XML equals Foundation's, byte for byte", arguments: 1...100 as ClosedRange<UInt64>)
    func sameBytes(seed: UInt64) throws {
        var values = RandomValues(seed: seed, without: [.uid, .oddText, .oddReals, .astral])
        let value = values.dictionary(depth: 9)
        #expect(try value.write(as: .xml) == writtenByFoundation(value, .xml))
    }

    @Test("Python's plistlib agrees in both directions", .enabled(if: ForeignProcess.hasPython))
    func python() throws {
        let script = """
            import plistlib, sys
            for line in open(sys.argv[1]):
                source, target, kind = line.rstrip("\\n").split("\\t")
                with open(source, "rb") as f: value = plistlib.load(f)
                form = plistlib.FMT_BINARY if kind == "binary" else plistlib.FMT_XML
                with open(target, "wb") as f: plistlib.dump(value, f, fmt=form)
            """
        try withTemporaryDirectory { path in
            let directory = URL(fileURLWithPath: path)
            var tasks: [(value: PropertyListValue, target: URL)] = []
            var list = ""
            for seed in 1...60 as ClosedRange<UInt64> {
                for source in [PropertyListFormat.xml, .binary] {
                    for target in [PropertyListFormat.xml, .binary] {
                        // plistlib doesn't support object numbers in XML.
                        var values = RandomValues(seed: seed, without: [.oddText, .fractions])
                        if source == .xml || target == .xml { values.without.insert(.uid) }
                        let value = values.dictionary()
                        let from = directory.appendingPathComponent("\(tasks.count).in")
                        let into = directory.appendingPathComponent("\(tasks.count).out")
                        try Data(value.write(as: source)).write(to: from)
                        let stored = source == .xml ? value.asStored(in: .xml) : value.widened
                        tasks.append((stored.asStored(in: target), into))
                        list += "\(from.path)\t\(into.path)\t\(target == .xml ? "xml" : "binary")\n"
                    }
                }
            }
            let file = directory.appendingPathComponent("list")
            try Data(list.utf8).write(to: file)
            try ForeignProcess.run(python: script, [file.path])
            for task in tasks {
                let read = try PropertyListValue(parsing: [UInt8](Data(contentsOf: task.target)))
                // plistlib writes equal numbers of one type once, so 0.0 may become -0.0.
                #expect(read.withoutSignOfZero == task.value.withoutSignOfZero)
            }
        }
    }

    @Test("The plistutil command agrees in both directions", .enabled(if: Programs.isInstalled("plistutil")))
    func plistutil() throws {
        try withTemporaryDirectory { directory in
            let (from, into) = (directory + "/in", directory + "/out")
            for seed in 1...12 as ClosedRange<UInt64> {
                // libplist's XML has fewer digits for reals, and differs for dates before 1970.
                var values = RandomValues(seed: seed, without: [.uid, .oddText, .reals, .fractions, .unsigned])
                let value = values.dictionary().withoutDates
                for (source, target) in [(PropertyListFormat.xml, "bin"), (.binary, "xml")] {
                    try Data(value.write(as: source)).write(to: URL(fileURLWithPath: from))
                    let outcome = try Programs.run("plistutil", ["-i", from, "-o", into, "-f", target])
                    #expect(outcome.status == 0, "\(outcome)")
                    #expect(
                        try PropertyListValue(parsing: [UInt8](Data(contentsOf: URL(fileURLWithPath: into)))) == value)
                }
            }
        }
    }
}

extension PropertyListValue {
    /// The value with -0.0 replaced by 0.0, which is what Foundation writes for both.
    var withoutSignOfZero: PropertyListValue {
        switch self {
        case .real(let number) where number == 0: .real(0)
        case .array(let values): .array(values.map(\.withoutSignOfZero))
        case .dictionary(let values): .dictionary(values.mapValues(\.withoutSignOfZero))
        default: self
        }
    }

    fileprivate var withoutDates: PropertyListValue {
        switch self {
        case .date: .date(PropertyListDate(secondsSinceReferenceDate: 1000))
        case .array(let values): .array(values.map(\.withoutDates))
        case .dictionary(let values): .dictionary(values.mapValues(\.withoutDates))
        default: self
        }
    }
}
