import DefaultsCore
import DefaultsKit
import Glibc

/// A domain that a command works on, with what reads and writes it.
struct OpenDomain {
    let place: DomainPlace
    let backend: any Backend

    var domain: Domain { place.domain }

    /// The values in force.
    ///
    /// - Parameters:
    ///   - use: what is said of the last good state, where the file can't be taken and there is one; `nil` to say nothing.
    ///   - consequence: what isn't done when there are none, as the end of the sentence.
    /// - Returns: the values, of which there is one at least.
    /// - Throws: when there are none, and why.
    func values(
        _ use: String? = "What follows is the last good state.", _ consequence: String = ""
    ) throws -> DomainValues {
        let values = try valuesIfAny(use)
        guard !values.isEmpty else { throw NotFound.domain(self, consequence) }
        return values
    }

    /// The values in force, perhaps none.
    ///
    /// - Parameter use: what is said of the last good state, where the file can't be taken and there is one; `nil` to say
    ///   nothing.
    /// - Returns: the values.
    /// - Throws: why the file can't be taken, unless it had good values before.
    func valuesIfAny(_ use: String? = nil) throws -> DomainValues {
        let snapshot = try backend.snapshot(of: domain)
        if let damage = snapshot.damage {
            guard !snapshot.values.isEmpty else { throw Failure(damage, .dataError) }
            if let use { Failure.note("\(damage) \(use)") }
        }
        return snapshot.values
    }

    /// The domains that an app of that name searches, in their order; a file elsewhere is searched by nobody, and is alone.
    var layers: [Domain] {
        guard place.directory == nil else { return [domain] }
        return backend.layers(of: domain.name, onHost: domain.host == .any ? nil : domain.host)
    }

    /// The values that an app finds: of each key that of the first layer that has it.
    ///
    /// - Returns: the values, of which there is one at least.
    /// - Throws: when there are none, and why.
    func effectiveValues() throws -> DomainValues {
        var values: DomainValues = [:]
        var damages: [String] = []
        for layer in layers {
            let snapshot = try backend.snapshot(of: layer)
            if let damage = snapshot.damage { damages.append(damage) }
            values.merge(snapshot.values) { first, _ in first }
        }
        if values.isEmpty, let damage = damages.first { throw Failure(damage, .dataError) }
        for damage in damages { Failure.note("\(damage) What follows is the last good state.") }
        guard !values.isEmpty else { throw NotFound.domain(self) }
        return values
    }

    /// What is said of a damaged file that is about to be replaced, behind what is wrong with it.
    static let replacement = "If it can be replaced, it is copied beside itself before."

    /// The values that are about to be set, perhaps none; a damaged file is told of.
    func valuesToReplace() throws(DefaultsError) -> DomainValues {
        let snapshot = try backend.snapshot(of: domain)
        if let damage = snapshot.damage { Failure.note("\(damage) \(Self.replacement)") }
        return snapshot.values
    }

    /// Sets and removes keys whatever they hold, durably.
    func edit(_ values: Difference, replacesAll: Bool = false) throws {
        try save { try backend.edit(domain, values, replacesAll: replacesAll) }
    }

    /// Sets and removes keys by what the domain holds, durably, so that nothing which others do meanwhile is undone.
    ///
    /// - Parameters:
    ///   - values: the values in force, as they were just read.
    ///   - make: makes an edit of them; it is asked again, with the values then, when others were quicker.
    /// - Throws: what `make` throws, and then nothing is changed; or why the edit can't be made or saved.
    func change(from values: DomainValues, _ make: (DomainValues) throws -> ConditionalEdit) throws {
        try save { try commit(values, make) }
    }

    private func commit(_ values: DomainValues, _ make: (DomainValues) throws -> ConditionalEdit) throws {
        var values = values
        var pause: Int32 = 1
        let end = ContinuousClock.now + .seconds(60)
        while true {
            let edit = try make(values)
            do throws(DefaultsError) {
                try backend.edit(domain, edit.values, replacesAll: false, expecting: edit.expected)
                break
            } catch {
                guard error.code == .changed else { throw error }
            }
            guard .now < end else {
                throw Failure(
                    "\(place.subject) is being changed by others all the time; nothing was changed, so try again.",
                    .temporaryFailure)
            }
            // Those who failed together don't try together; the more there are, the longer each waits.
            poll(nil, 0, Int32.random(in: 0...pause))
            pause = min(pause * 2, 2_000)
            values = try backend.snapshot(of: domain).values
        }
    }

    /// Makes an edit durable, and reports copies that were kept beside the file.
    ///
    /// An edit of a place that its argument may not show, such as a path with "..", says first where it goes.
    private func save(_ edit: () throws -> Void) throws {
        if let note = place.note { Failure.note(note) }
        defer {
            let copies = (backend as? EmbeddedStore)?.takeCopies() ?? []
            for copy in copies { Failure.note(EmbeddedStore.message(ofCopy: copy)) }
        }
        do {
            try edit()
            do throws(DefaultsError) { try backend.synchronize(domain) } catch {
                guard error.code == .agentUnavailable else { throw error }
                throw DefaultsError(
                    .agentUnavailable, "\(error) The edit was made, but may not be on the disk yet.", errno: error.errno
                )
            }
        } catch let error as DefaultsError
            where place.directory != nil && (error.code == .directory || error.code == .notSaved)
        {
            // One of a file that was named by its path couldn't make that file.
            throw Failure(error.description, .cantCreate)
        }
    }
}
