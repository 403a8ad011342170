/// The reason why an operator can't do something.
package enum OperatorFailure: Error, Sendable {
    /// Others keep changing the same registers.
    case busy
    /// Some machines have an entry's value, and others don't yet.
    case unfinished(PushedEntry)
    /// A value or the record of the changes has too many bytes.
    case tooLarge(Int)
    /// Only a part of the rollout's changes is pushed.
    case partlyPushed(Int64)
    /// Perhaps only a part of the rollout's changes is written: somebody else has changed it, unless there is another
    /// reason.
    case incomplete(Int64, RegisterFailure?)
    /// Nobody has said whether the rollout was written; the reason.
    case unknownOutcome(Int64, RegisterFailure)
    /// There is no rollout with this number, or its record is no longer kept.
    case unknown(Int64)
    /// The rollout has been undone.
    case undone(Int64)
    /// A register can't be read: a later version has written it, or it isn't this fleet's.
    case unreadable
    /// Later rollouts have replaced all values of this one.
    case replaced(Int64)
    /// A key is to be removed that none of the groups has.
    case absent(PushedKey)
}
