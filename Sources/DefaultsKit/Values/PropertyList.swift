// The values are in the API, so whoever imports the library has them: their literals, too, which need the module's import
// in each file where `MemberImportVisibility` is on.
@_exported public import PropertyList
