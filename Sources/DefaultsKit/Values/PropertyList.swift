// The API uses these values, so importing the library imports them as well. Otherwise, with `MemberImportVisibility`
// on, each file that uses their literals would have to import the module.
@_exported public import PropertyList
