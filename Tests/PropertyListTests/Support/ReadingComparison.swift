import Foundation
import PropertyList
import Testing

/// The results of two readers for one document.
struct ReadingComparison {
    let document: MutatedDocument
    let ours: PropertyListValue?
    let error: PropertyListError?
    let theirs: PropertyListValue?
    /// The other reader's reason for refusing the document, if it gives one.
    let refusal: String?

    init(_ document: MutatedDocument, theirs: PropertyListValue?, refusal: String? = nil) {
        self.document = document
        self.refusal = refusal
        self.theirs = theirs
        do throws(PropertyListError) {
            ours = try PropertyListValue(parsing: document.bytes)
            error = nil
        } catch {
            ours = nil
            self.error = error
        }
    }

    /// The document decoded as text.
    var text: String { String(decoding: document.bytes, as: UTF8.self) }

    /// The first difference if both readers accept the document, as our value and theirs.
    var difference: (ours: PropertyListValue, theirs: PropertyListValue)? {
        guard let ours, let theirs else { return nil }
        return ours.difference(from: theirs)
    }

    /// Returns a description of an unknown difference; `nil` if the readers agree or the difference is known.
    func problem(_ known: [KnownDifference]) -> String? {
        let what: String
        switch (ours, theirs) {
        case (nil, nil): return nil
        case (nil, _?): what = "refused: \(error.map { "\($0)" } ?? "")"
        case (_?, nil): what = "accepted by us alone, refused for \(refusal ?? "a reason of its own")"
        case (_?, _?):
            guard let difference else { return nil }
            what = "read as \(difference.ours), by the other as \(difference.theirs)"
        }
        if known.contains(where: { $0.holds(self) }) { return nil }
        return "Seed \(document.seed): \(what): \(text.debugDescription)"
    }
}

extension PropertyListValue {
    /// Returns the first difference from another reader's value, as far as that reader's types allow.
    fileprivate func difference(
        from other: PropertyListValue
    ) -> (ours: PropertyListValue, theirs: PropertyListValue)? {
        switch (widened, other.widened) {
        case (.real(let ours), .real(let theirs)) where ours == theirs || ours.isNaN && theirs.isNaN: return nil
        case (.date(let ours), .date(let theirs))
        where abs(ours.secondsSinceReferenceDate - theirs.secondsSinceReferenceDate) < 0.000_1:
            return nil
        case (.array(let ours), .array(let theirs)) where ours.count == theirs.count:
            return zip(ours, theirs).lazy.compactMap { $0.difference(from: $1) }.first
        case (.dictionary(let ours), .dictionary(let theirs)) where Set(ours.keys) == Set(theirs.keys):
            return ours.lazy.compactMap { key, value in value.difference(from: theirs[key] ?? .uid(.max)) }.first
        case (let ours, let theirs): return ours == theirs ? nil : (self, other)
        }
    }
}
