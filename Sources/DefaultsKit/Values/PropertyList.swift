// The API uses these values, so importing the library imports them as well. Where `MemberImportVisibility` is on, their
// literals would otherwise need the module's import in each file.
@_exported public import PropertyList
