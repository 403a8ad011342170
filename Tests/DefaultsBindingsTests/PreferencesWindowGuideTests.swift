import DefaultsBindings
import DefaultsKit
import FoundationEssentials
import Observation
import Testing

extension DefaultsKey where Value == String {
    fileprivate static var title: Self { Self("title", default: "Untitled") }
}

extension DefaultsKey where Value == Bool {
    fileprivate static var sounds: Self { Self("sounds", default: true) }
}

@MainActor @Observable
private final class Editor {
    var title = ""
    var isSilent = false
    var showsHint = false
}

@MainActor
private final class Button {
    var isEnabled = false
}

/// The examples of "Build a preferences window", unchanged except for the place where values are stored.
@Suite("Guide to preferences windows", .timeLimit(.minutes(1)))
@MainActor
struct PreferencesWindowGuideTests {
    private let defaults = UserDefaults(inMemory: [:])
    private let editor = Editor()
    private let applyButton = Button()

    @Test("The guide's examples work")
    func guide() async {
        let controller = UserDefaultsController(
            defaults: defaults, initialValues: ["title": "Untitled", "sounds": true])
        controller.appliesImmediately = false
        controller.values[.title] = "Letter"
        #expect(controller.hasUnappliedChanges)
        #expect(defaults.values() == [:])

        func apply() { controller.save() }
        func revert() { controller.revert() }
        func restoreFactoryDefaults() { controller.revertToInitialValues() }

        for await isEnabled in controller.updates(of: \.hasUnappliedChanges) {
            applyButton.isEnabled = isEnabled
            break
        }
        #expect(applyButton.isEnabled)
        apply()
        #expect(defaults.values() == ["title": "Letter"])

        let title = controller.bind(editor, \.title, to: .title)
        let sounds = controller.bind(editor, \.isSilent, to: .sounds, transformer: .negateBoolean)

        #expect(editor.title == "Letter")
        #expect(!editor.isSilent)

        editor.title = "Report"
        title.commit()
        controller.save()

        #expect(defaults[.title] == "Report")
        editor.isSilent = true
        sounds.commit()
        #expect(controller.values[.sounds] == false)
        revert()
        #expect(controller.values[.sounds] == true)
        restoreFactoryDefaults()
        apply()
        #expect(defaults.values() == ["title": "Untitled", "sounds": true])

        let percent = DefaultsTransformer<Double, Int>(
            present: { Int($0 * 100) },
            store: { Double($0) / 100 })

        #expect(percent.present(0.5) == 50)

        let hint = controller.bind(editor, \.showsHint, to: DefaultsKey<String?>("nickname"), transformer: .isNil)
        #expect(editor.showsHint)
        controller.values["nickname"] = "Ada"
        hint.commit()
        #expect(!editor.showsHint)

        let name = controller.bind(editor, \.title, to: .title, commit: .onDemand)
        editor.title = "Memo"
        name.commit()
        #expect(controller.values[.title] == "Memo")

        let suite = UserDefaults(inMemory: [:])
        let shared = UserDefaultsController(defaults: suite, initialValues: ["title": "Untitled"])
        shared.values.setValue(Date.now, forKey: "opened")
        #expect(suite.object(forKey: "opened") is Date)
    }
}
