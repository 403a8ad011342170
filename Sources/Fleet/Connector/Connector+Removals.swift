import DefaultsCore
import PropertyList

/// The end of removals, which would otherwise stay in the state and in each snapshot.
///
/// A removal has done its work once every machine has it: no later edit is made without knowledge of it, so that none
/// can lose to it. Vectors tell when that is so. Only a machine that joins may still send a value that the fleet once
/// had; a machine that still has the removal then sends it again.
extension Connector {
    /// The number of removals up to which they stay.
    private static let maximumRemovals = 100
    /// The time after which a machine that says nothing is waited for no longer, in milliseconds.
    private static let maximumSilence: UInt64 = 180 * 86_400_000

    /// Forgets removals that all machines have, if there are more of them than values.
    func endRemovals() throws(DefaultsError) {
        guard state.replica.newest.count - state.known.count > max(Self.maximumRemovals, state.known.count) else {
            return
        }
        if state.ending == nil {
            let removed = state.replica.newest.filter { isRemoved($0.key) }
            if removed.isEmpty { return }
            var vector = state.vector
            vector[machine] = Receipt(NumberRanges(1...max(1, state.last)))
            state.ending = .init(vector: vector, keys: removed)
            isChanged = true
        }
        guard let ending = state.ending, try isEverywhere(ending.vector) else { return }
        let ended = Set(ending.keys.filter { state.replica.newest[$0.key] == $0.value && isRemoved($0.key) }.keys)
        state.replica.forget(where: ended.contains)
        state.ending = nil
        isChanged = true
    }

    private func isRemoved(_ key: FleetKey) -> Bool {
        state.known[key] == nil && state.replica.unconfirmed[key] == nil && state.delayed[key] == nil
            && !TravelRules.isOwn(key.domain) && state.away[key.domain] == nil
    }

    /// Returns whether all machines have received all of a vector, and everything that they sent before is here.
    private func isEverywhere(_ vector: FleetVector) throws(DefaultsError) -> Bool {
        let list = try values(of: TravelRules.machines.description)
        func hasLeft(_ machine: MachineID) -> Bool {
            guard case .dictionary(let entry)? = list[machine.text] else { return false }
            return entry["Left"] == true
        }
        let now = agent.now.milliseconds
        return state.heard.allSatisfy { other, word in
            if hasLeft(other) { return true }
            if let time = state.times[other]?.received, now > time + Self.maximumSilence { return true }
            return word.isSettled && word.vector.contains(vector, except: other)
                && state.vector[other]?.numbers.contains(1...word.number) == true
        }
    }

    /// Sends removals again whose keys a machine begins with, which may have forgotten them.
    func resendRemovals(of beginnings: [Envelope]) {
        let removed = beginnings.filter { edit in
            state.replica.newest[edit.key].map { $0 > edit.stamp } == true && state.known[edit.key] == nil
                && (state.replica.unconfirmed[edit.key].map { $0.value == nil } ?? true)
        }
        if removed.isEmpty { return }
        unsent.append(state.replica.repeated(Dictionary(uniqueKeysWithValues: removed.map { ($0.key, nil) })))
    }
}
