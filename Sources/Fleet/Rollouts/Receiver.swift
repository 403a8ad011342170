package import DefaultsCore
import PropertyList

/// The files of the layers into which a service's preferences go.
package protocol ReceiverFiles: AnyObject {
    /// Returns the values of a domain's file.
    func values(of domain: DomainName, in layer: PushedLayer) throws(DefaultsError) -> DomainValues

    /// Returns a text that changes whenever the file's values may have changed.
    func version(of domain: DomainName, in layer: PushedLayer) -> String

    /// Sets and removes keys of a domain's file, and returns when that is durable.
    func set(_ values: Difference, of domain: DomainName, in layer: PushedLayer) throws(DefaultsError)
}

/// The place of a receiver's state, which survives a crash.
package protocol ReceiverStore: AnyObject {
    /// Replaces the state, and returns when that is durable.
    func write(_ state: ReceiverState) throws(DefaultsError)
}

/// A machine of a service: it sets what operators push to its groups in the files that apply to all of its users.
///
/// It may be interrupted anywhere. The state has what is about to be set before the files do, and counts it as set
/// after that; setting it twice changes nothing. Keys that nobody has pushed stay as they are. A key that somebody on
/// the machine has changed stays so until it is pushed again; the report names it.
package final class Receiver {
    private let service: any RegisterService
    private let seal: any FleetSeal
    private let files: any ReceiverFiles
    private let store: any ReceiverStore
    private let groups: Set<String>

    package private(set) var state: ReceiverState
    /// The keys that can't be set, with the reasons.
    private var refused: [PushedKey: DefaultsError] = [:]
    /// The keys that can't be set, or whose files can't be read, with the reasons.
    package var problems: [ReceiverReport.Problem] {
        refused.merging(found.unreadable) { $1 }.sorted { $0.key < $1.key }.map {
            ReceiverReport.Problem(key: $0.key, reason: "\($0.value)")
        }
    }
    /// The number of registers that can't be read: a later version has written them, or nobody with the key.
    package private(set) var unreadable = 0
    /// The differences that the last comparison found, which changes on their way may explain.
    private var suspicion: [String: Int64] = [:]
    /// The keys that somebody on the machine had changed when its files were last read.
    package var changed: [PushedKey] { found.changed }
    /// The local changes that were found last.
    private var found = LocalChanges()
    /// The last report.
    private var reported: ReceiverReport?
    /// The version of each file when it was last checked.
    private var versions: [Domain: String] = [:]

    package init(
        _ state: ReceiverState, in groups: [String], following service: any RegisterService, with seal: any FleetSeal,
        setting files: any ReceiverFiles, keepingStateIn store: any ReceiverStore
    ) {
        (self.state, self.service, self.seal, self.files, self.store) = (state, service, seal, files, store)
        self.groups = Set(groups)
    }

    private var prefix: String { RegisterName.pushed(seal) }

    // MARK: Following

    /// Begins to follow, and sets what has changed since the state was written.
    package func connect() throws {
        suspicion = [:]
        // With the credentials of another fleet, the copy can't be read, and would count as empty.
        let isSameFleet = state.mirror.registers.keys.allSatisfy { $0.hasPrefix(prefix) }
        if isSameFleet, let revision = state.mirror.revision, state.mirror.isCopy(of: try service.revisions(prefix)) {
            try service.watch(prefix, after: revision)
        } else {
            try reload()
        }
        try apply()
        findLocalChanges()
    }

    /// Waits for an event, and sets what it brings.
    ///
    /// - Returns: The outcome; `nothing` if no event came in time.
    /// - Throws: `RegisterFailure` if the service can't be used; then `connect` again. `DefaultsError` if the state
    ///   can't be written.
    package func follow(within milliseconds: Int32) throws -> Outcome {
        guard let event = try service.nextEvent(within: milliseconds) else { return .nothing }
        let (former, applied, problems) = (state.mirror.registers, state.applied, Set(refused.keys))
        let isApplied = state.mirror.apply(event)
        remember(former)
        switch isApplied {
        case nil:
            let hasChanged = try reload()
            try apply()
            return hasChanged ? .gap : .nothing
        case true?:
            try apply()
            let isConcerned = event.names.contains { name in
                [former[name], state.mirror.registers[name]].contains { $0.map(concerns) ?? false }
            }
            // What couldn't be set before may have been set now.
            return isConcerned || state.applied != applied || Set(refused.keys) != problems ? .changes : .others
        case false?: return .nothing
        }
    }

    /// Returns whether a register may be for this machine.
    private func concerns(_ register: Register) -> Bool {
        guard let entry = PushedEntry(register, opening: seal) else { return true }
        return entry.isFor(groups)
    }

    /// The outcome of waiting.
    package enum Outcome: Sendable {
        case nothing, changes
        /// Changes came that are for other groups, of which nobody expects a report.
        case others
        /// Changes were missed, and the values are those of now.
        case gap
    }

    /// Compares what was received with what the service has.
    ///
    /// - Returns: `gap` if changes had been lost on their way, and were found now; `changes` if the service has
    ///   something else, which may be on its way: call this again in some seconds.
    package func examine() throws -> Outcome {
        switch state.mirror.compare(with: try service.revisions(prefix), suspecting: &suspicion) {
        case .same: return .nothing
        case .mayBeOnItsWay: return .changes
        case .lost:
            let hasChanged = try reload()
            try apply()
            return hasChanged ? .gap : .nothing
        }
    }

    /// Reads everything as of one revision, and watches from there; returns whether anything is new.
    @discardableResult
    private func reload() throws -> Bool {
        let range = try service.range(prefix)
        let former = state.mirror.registers
        let hasChanged = state.mirror.replace(with: range)
        remember(former)
        try service.watch(prefix, after: range.revision)
        return hasChanged
    }

    // MARK: Setting

    /// Remembers the last contents that could be read of registers that no longer can.
    private func remember(_ former: [String: Register]) {
        func isReadable(_ register: Register) -> Bool { PushedEntry(register, opening: seal) != nil }
        for name in state.lastReadable.keys {
            if let register = state.mirror.registers[name], !isReadable(register) { continue }
            state.lastReadable[name] = nil
        }
        for (name, register) in state.mirror.registers
        where former[name] != register && state.lastReadable[name] == nil && !isReadable(register) {
            if let old = former[name], isReadable(old) { state.lastReadable[name] = old.contents }
        }
    }

    /// Returns the values that this machine gets; while a register can't be read, its last ones stay.
    private func wanted() -> [PushedKey: FormerValue] {
        unreadable = 0
        var entries: [PushedEntry] = []
        for (name, register) in state.mirror.registers {
            if let entry = PushedEntry(register, opening: seal) {
                entries.append(entry)
                continue
            }
            unreadable += 1
            if let contents = state.lastReadable[name],
                let entry = PushedEntry(Register(name, contents, revision: 0), opening: seal)
            {
                entries.append(entry)
            }
        }
        return entries.values(for: state.machine, in: groups)
    }

    /// Sets what this machine gets, and removes what it no longer gets; tries again what couldn't be set.
    package func apply() throws {
        let former = state
        let wanted = wanted()
        refused = [:]
        let keys = Set(wanted.keys).union(state.applied.keys).union(state.pending.keys)
        // What the files are about to have, or to lose, the machine must know as its own, and not as set.
        for key in keys where state.applied[key] != wanted[key].map({ Applied($0) }) {
            if let hash = state.applied[key]?.hash { state.pending[key, default: []].insert(hash) }
            if let value = wanted[key] { state.pending[key, default: []].insert(Applied(value).hash) }
            state.applied[key] = nil
        }
        if state != former { try store.write(state) }
        for ((layer, domain), keys) in Dictionary(grouping: keys, by: { Domain($0.layer, $0.domain) })
            .map({ (($0.layer, $0.domain), $1) })
        {
            do throws(DefaultsError) {
                let name = try DomainName(domain)
                try apply(keys.sorted(), of: name, in: layer, wanted)
            } catch {
                for key in keys where state.pending[key] != nil { refused[key] = error }
            }
        }
        // What is in the files is counted as such only now.
        try store.write(state)
    }

    private struct Domain: Hashable {
        let layer: PushedLayer
        let domain: String
        init(_ layer: PushedLayer, _ domain: String) { (self.layer, self.domain) = (layer, domain) }
    }

    /// A value that the machine has set, of which it knows the rollout and the hash.
    package typealias Applied = ReceiverState.Applied

    private func apply(
        _ keys: [PushedKey], of domain: DomainName, in layer: PushedLayer, _ wanted: [PushedKey: FormerValue]
    ) throws(DefaultsError) {
        var edit: Difference = [:]
        var removed: [PushedKey] = []
        for key in keys {
            if let value = wanted[key] {
                if state.applied[key] != Applied(value) { edit[key.key] = .some(value.value) }
            } else {
                removed.append(key)
            }
        }
        if edit.isEmpty, removed.isEmpty { return }
        if !removed.isEmpty {
            let values = try files.values(of: domain, in: layer)
            for key in removed {
                guard let hash = values[key.key].map({ Applied.hash($0) }) else { continue }
                if state.pending[key]?.contains(hash) == true {
                    edit[key.key] = .some(nil)
                } else {
                    // What somebody has set since stays.
                    state.kept.insert(key)
                }
            }
        }
        if !edit.isEmpty { try set(edit, of: domain, in: layer, keys) }
        for key in keys where refused[key] == nil {
            state.applied[key] = wanted[key].map { Applied($0) }
            state.pending[key] = nil
            if wanted[key] != nil { state.kept.remove(key) }
        }
    }

    /// Sets keys together or, if some can't be set, as many of them as possible.
    private func set(
        _ edit: Difference, of domain: DomainName, in layer: PushedLayer, _ keys: [PushedKey]
    ) throws(DefaultsError) {
        do throws(DefaultsError) { try files.set(edit, of: domain, in: layer) } catch {
            guard error.code == .invalidValue, edit.count > 1 else { throw error }
            for key in keys {
                guard let value = edit[key.key] else { continue }
                do throws(DefaultsError) { try files.set([key.key: value], of: domain, in: layer) } catch {
                    guard error.code == .invalidValue else { throw error }
                    refused[key] = error
                }
            }
        }
    }

    // MARK: Reporting

    /// The keys that somebody on the machine has changed since they were set or removed, and those whose files can't be
    /// read.
    private struct LocalChanges: Hashable {
        var changed: [PushedKey] = []
        var unreadable: [PushedKey: DefaultsError] = [:]
    }

    /// Checks the files that have changed since the last check or report.
    ///
    /// - Returns: Whether the last report is outdated.
    package func checkFiles() -> Bool {
        let domains = Set(Set(state.applied.keys).union(state.kept).map { Domain($0.layer, $0.domain) })
        return domains.contains { versions[$0] != version(of: $0) } && hasNews()
    }

    /// Reads the files, and returns whether a report would say something else than the last one, apart from the time.
    package func hasNews() -> Bool {
        guard let last = reported else { return true }
        var new = report(named: last.name, version: last.version, at: last.milliseconds)
        new.revision = last.revision
        return new != last
    }

    private func version(of domain: Domain) -> String? {
        (try? DomainName(domain.domain)).map { files.version(of: $0, in: domain.layer) }
    }

    private func findLocalChanges() {
        var changes = LocalChanges()
        versions = [:]
        let keys = state.applied.mapValues(\.hash).map { ($0, Optional($1)) } + state.kept.map { ($0, nil) }
        for (domain, keys) in Dictionary(grouping: keys, by: { Domain($0.0.layer, $0.0.domain) }) {
            guard let name = try? DomainName(domain.domain) else { continue }
            // The version is that of the values, or an earlier one.
            versions[domain] = version(of: domain)
            do throws(DefaultsError) {
                let values = try files.values(of: name, in: domain.layer)
                for (key, hash) in keys where values[key.key].map({ Applied.hash($0) }) != hash {
                    changes.changed.append(key)
                }
                // Once it is gone, nobody has kept it.
                for (key, hash) in keys where hash == nil && values[key.key] == nil { state.kept.remove(key) }
            } catch {
                for (key, _) in keys { changes.unreadable[key] = error }
            }
        }
        changes.changed.sort()
        found = changes
    }

    /// Writes this machine's report.
    package func sendReport(named name: String, version: String, at milliseconds: UInt64) throws {
        let report = report(named: name, version: version, at: milliseconds)
        let register = RegisterName.receiver(state.machine, seal)
        _ = try service.write(
            [RegisterWrite(register, try report.sealed(with: seal), isTemporary: true)], expecting: [:])
        reported = report
    }

    private func report(named name: String, version: String, at milliseconds: UInt64) -> ReceiverReport {
        findLocalChanges()
        let (problems, changed) = (problems, found.changed)
        // A key of which the report has no room to say that something is wrong must not count as set.
        let omitted = Set(problems.dropFirst(Self.maximumKeys).map(\.key) + changed.dropFirst(Self.maximumKeys))
        let counts = Dictionary(
            state.applied.filter { !omitted.contains($0.key) }.map { ($0.value.rollout, 1) }, uniquingKeysWith: +)
        return ReceiverReport(
            machine: state.machine, name: name, groups: groups.sorted(), revision: state.mirror.revision ?? 0,
            milliseconds: milliseconds, version: version, problems: Array(problems.prefix(Self.maximumKeys)),
            unreadable: unreadable, changed: Array(changed.prefix(Self.maximumKeys)), omitted: omitted.count,
            counts: counts)
    }

    private static let maximumKeys = 200
}
