package import Manifests
package import PropertyList

/// An app's request to change keys in one domain, as a single change set.
package struct EditRequest: Hashable, Sendable {
    package var domain: Domain
    /// The keys to set, or to remove if the value is `nil`.
    package var values: Difference
    /// Whether to remove all other keys.
    package var replacesAll: Bool
    /// The time when the edit was made.
    package var time: Timestamp
    package var writer: Writer
    /// The edit's identity, if the sender may resend the edit.
    package var identity: EditIdentity?
    /// The keys' former values, if the edit is being resent because it may have been lost; `nil` the first time.
    ///
    /// A resent edit doesn't overrule values that others have set or written since.
    package var replacing: FormerValues?
    /// The values that keys must have for the edit to be applied, with `nil` for no value; if this is `nil`, the edit
    /// is unconditional.
    ///
    /// This way, a value computed from an earlier one can't undo changes made in the meantime.
    package var expecting: Difference?
    /// The reason for the edit, which is recorded in the history and sent to followers.
    package var origin: Origin?

    package init(
        domain: Domain, values: Difference, replacesAll: Bool = false, time: Timestamp = .now(), writer: Writer,
        identity: EditIdentity? = nil, replacing: FormerValues? = nil, expecting: Difference? = nil,
        origin: Origin? = nil
    ) {
        self.domain = domain
        self.values = values
        self.replacesAll = replacesAll
        self.time = time
        self.writer = writer
        self.identity = identity
        self.replacing = replacing
        self.expecting = expecting
        self.origin = origin
    }

    /// The maximum size of an edit in bytes, which leaves room for the rest of the request.
    private static let maximumBytes = Frame.standardLimit - 4_096

    /// Checks that the domain may be edited, and that a file with the new values could be read back.
    ///
    /// - Throws: `readOnly` or `invalidValue`.
    package func check() throws(DefaultsError) {
        try domain.checkWritable()
        for (key, value) in values { try Self.check(key, with: value, for: domain) }
        if values.count > 1 { try Self.checkSize(of: values, for: domain) }
    }

    /// Returns the reasons why keys can't be set to values, whatever else is set with them; usually none.
    package static func refusals(of values: Difference, for domain: Domain) -> [String: DefaultsError] {
        var refusals: [String: DefaultsError] = [:]
        for (key, value) in values {
            do throws(DefaultsError) { try check(key, with: value, for: domain) } catch { refusals[key] = error }
        }
        return refusals
    }

    /// Checks that a key can be set to a value, whatever else is set with it.
    ///
    /// - Throws: `invalidValue`.
    package static func check(
        _ key: String, with value: PropertyListValue?, for domain: Domain
    ) throws(DefaultsError) {
        if key.hasOverlongMarkRun || value?.hasUnreadableKey == true {
            throw DefaultsError(
                .invalidValue,
                "A key for \(domain) has more than 128 combining marks in a row.",
                remedy: "Use another key.")
        }
        guard let value else { return try checkSize(of: [key: nil], for: domain) }
        if value.hasDateBeyondCalendar {
            throw DefaultsError(
                .invalidValue,
                "The value of \"\(key)\" for \(domain) has a date outside the years 0 to 9999, which a text file "
                    + "can't represent.",
                remedy: "Use a date within these years.")
        }
        // The file's top-level dictionary counts as a container too.
        let depth = PropertyListLimits.domainFile.depth - 1
        if !value.fits(depth: depth) {
            throw DefaultsError(
                .invalidValue,
                "The value of \"\(key)\" for \(domain) has more than \(depth) nested containers, the limit of a file.",
                remedy: "Use fewer levels.")
        }
        // In the usual case, no dictionary is created.
        if key.utf8.count + value.estimatedSize > Frame.standardLimit / 4 {
            try checkSize(of: [key: value], for: domain)
        }
    }

    /// Returns the approximate size of an edit's keys and values in memory, in bytes.
    static func estimatedSize(of values: Difference) -> Int {
        values.reduce(0) { $0 + $1.key.utf8.count + ($1.value?.estimatedSize ?? 0) }
    }

    private static func checkSize(of values: Difference, for domain: Domain) throws(DefaultsError) {
        // Encode the values only if they may be too large.
        guard estimatedSize(of: values) > Frame.standardLimit / 4 else { return }
        let bytes = try Frame.encode(values.compactMapValues(\.self)).count
        guard bytes <= maximumBytes else {
            throw DefaultsError(
                .invalidValue,
                "The values for \(domain) take \(bytes) bytes; the limit of an edit is \(maximumBytes).",
                remedy: "Store large data in a separate file.")
        }
    }
}

extension DefaultsError {
    /// Returns the error of an edit that an enforced manifest forbids.
    package static func enforcement(of violation: Violation, for domain: Domain, by path: String) -> DefaultsError {
        DefaultsError(
            .invalidValue, "\(violation) The edit of \(domain) is refused, because the manifest \(path) is enforced.")
    }

    /// Returns the error of an edit whose condition doesn't hold.
    package static func condition(of domain: Domain) -> DefaultsError {
        DefaultsError(
            .changed,
            "\(domain) was changed by another program.",
            remedy: "Read it again, then retry.")
    }
}
