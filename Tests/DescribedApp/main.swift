import DefaultsKit

// The enumeration is made from the manifest, by the build plugin.
let defaults = UserDefaults.standard
print(EditorPreferences.domain, defaults[EditorPreferences.fontSize], defaults[EditorPreferences.theme].rawValue)
defaults[EditorPreferences.theme] = .dark
try EditorPreferences.setFontSize(20)
defaults[EditorPreferences.default] = ["a", "b"]
do {
    try EditorPreferences.setFontSize(99)
} catch {
    print(error)
}
UserDefaults.standard.register(manifestOf: EditorPreferences.domain)
print(
    defaults[EditorPreferences.fontSize], defaults[EditorPreferences.theme], defaults.integer(forKey: "LineHeight"),
    defaults[EditorPreferences.lineHeight] as Any)
// The file of this manifest has the same name as the first one's, in another folder.
print(ViewerPreferences.domain, defaults[ViewerPreferences.zoom] as Any)
defaults.synchronize()
