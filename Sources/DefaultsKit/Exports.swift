// The API uses these values, so importing the library imports them as well. Otherwise, with `MemberImportVisibility`
// on, each file that uses their literals would have to import the module.
@_exported public import PropertyList

#if OVER_FOUNDATION
// For the same reason, this isn't an alias: each file that calls the class's own methods would have to import
// Foundation.
@_exported public import class Foundation.UserDefaults
#endif

/// The preferences of a program, under a name that Foundation doesn't have.
///
/// A file that imports both Foundation and DefaultsKit can use it as it is, while `UserDefaults` is ambiguous there.
public typealias Defaults = UserDefaults
