import DefaultsCore
import DefaultsKit
import Glibc

/// A domain that a command works on, with what reads and writes it.
struct OpenDomain {
    let place: DomainPlace
    let backend: any Backend

    var domain: Domain { place.domain }

    /// The values in force; what is wrong with the file is told.
    ///
    /// - Throws: when there are none.
    func values() throws -> DomainValues {
        let snapshot = try backend.snapshot(of: domain)
        if let damage = snapshot.damage {
            guard !snapshot.values.isEmpty else { throw Failure(damage, .dataError) }
            Failure.note("\(damage) What follows is the last good state.")
        }
        guard !snapshot.values.isEmpty else { throw Failure("\(place.subject) does not exist.", .notFound) }
        return snapshot.values
    }

    /// The values in force, perhaps none.
    ///
    /// - Throws: why the file can't be taken, unless it had good values before.
    func valuesIfAny() throws -> DomainValues {
        let snapshot = try backend.snapshot(of: domain)
        if let damage = snapshot.damage, snapshot.values.isEmpty { throw Failure(damage, .dataError) }
        return snapshot.values
    }

    /// The values that are about to be set, perhaps none; a damaged file is told of.
    func valuesToReplace() throws(DefaultsError) -> DomainValues {
        let snapshot = try backend.snapshot(of: domain)
        if let damage = snapshot.damage { Failure.note("\(damage) It is copied beside itself before it is replaced.") }
        return snapshot.values
    }

    /// Sets and removes keys whatever they hold, durably.
    func edit(_ values: Difference, replacesAll: Bool = false) throws {
        do throws(DefaultsError) {
            try backend.edit(domain, values, replacesAll: replacesAll)
            try backend.synchronize(domain)
        } catch {
            throw failure(error)
        }
    }

    /// Sets and removes keys by what the domain holds, durably, so that nothing which others do meanwhile is undone.
    ///
    /// - Parameters:
    ///   - values: the values in force, as they were just read.
    ///   - make: makes an edit of them; it is asked again, with the values then, when others were quicker.
    /// - Throws: what `make` throws, and then nothing is changed; or why the edit can't be made or saved.
    func change(from values: DomainValues, _ make: (DomainValues) throws -> ConditionalEdit) throws {
        var values = values
        var pause: Int32 = 1
        let end = ContinuousClock.now + .seconds(20)
        while true {
            let edit = try make(values)
            do throws(DefaultsError) {
                try backend.edit(domain, edit.values, replacesAll: false, expecting: edit.expected)
                break
            } catch {
                guard error.code == .changed else { throw failure(error) }
            }
            guard .now < end else {
                throw Failure(
                    "\(place.subject) is being changed by others all the time; nothing was changed, so try again.",
                    .temporaryFailure)
            }
            // Those who failed together don't try together.
            poll(nil, 0, Int32.random(in: 0...pause))
            pause = min(pause * 2, 64)
            values = try backend.snapshot(of: domain).values
        }
        do throws(DefaultsError) { try backend.synchronize(domain) } catch { throw failure(error) }
    }

    /// What a failed edit is to the person: one of a file that was named by its path couldn't make that file.
    private func failure(_ error: DefaultsError) -> any Error {
        guard place.directory != nil, error.code == .directory || error.code == .notSaved else { return error }
        return Failure(error.description, .cantCreate)
    }
}
