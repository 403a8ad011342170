/// What happened to domains that someone follows.
public enum DefaultsEvent: Hashable, Sendable {
    /// Someone changed values.
    case change(DefaultsChange)
    /// A domain's file can't be taken as it is, and says why; the values stay as they were.
    case damaged(PreferencesDomain, reason: String)
    /// A domain's edits can't be saved, by whomever they were made, and the reason says why; they are in force, kept, and
    /// tried again.
    case unsaved(PreferencesDomain, reason: String)
    /// A domain is neither damaged nor unsaved any more.
    case recovered(PreferencesDomain)
    /// Changes before this one are not to be had any more, since who follows was too slow, or the agent was replaced: the
    /// values are to be read anew.
    case gap
}
