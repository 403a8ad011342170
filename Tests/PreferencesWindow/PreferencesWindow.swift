import DefaultsBindings
import DefaultsFoundation
import DefaultsKit
import Foundation
import Observation

extension DefaultsKey where Value == Double {
    static var quality: Self { Self("quality", default: 0.5) }
}

extension DefaultsKey where Value == Bool {
    static var sounds: Self { Self("sounds", default: true) }
}

extension DefaultsKey where Value == String {
    static var name: Self { Self("name", default: "") }
}

/// A preferences window for a terminal, with Apply, Revert and Restore Factory Defaults.
///
/// It prints its content as a line, and again whenever it changes, whatever changed it.
@MainActor
final class PreferencesWindow {
    private let settings = Settings()
    private let controller: UserDefaultsController
    private let bindings: [UserDefaultsController.Binding]
    private let write: (String) -> Void
    private var shown = ""

    init(_ controller: UserDefaultsController, write: @escaping (String) -> Void) {
        self.controller = controller
        self.write = write
        controller.appliesImmediately = false
        bindings = [
            controller.bind(settings, \.name, to: .name),
            controller.bind(settings, \.quality, to: .quality),
            // The stored value says whether sounds are on.
            controller.bind(settings, \.isSilent, to: .sounds, transformer: .negateBoolean),
            // The stored value is an archive.
            controller.bind(settings, \.color, to: "color", transformer: .unarchiveFromData),
        ]
    }

    /// The window's content.
    private var line: String {
        let sounds = settings.isSilent ? "silent" : "sounds"
        let buttons = controller.hasUnappliedChanges ? "[apply] [revert]" : "(applied)"
        let color = settings.color.map { "\($0)" } ?? "none"
        return "name \"\(settings.name)\", quality \(settings.quality), \(sounds), color \(color) \(buttons)"
    }

    /// Shows the content now and whenever it changes.
    func follow() {
        let line = withObservationTracking {
            self.line
        } onChange: {
            Task { @MainActor [weak self] in self?.follow() }
        }
        if line == shown { return }
        write(line)
        shown = line
    }

    /// Performs a user's command.
    ///
    /// - Returns: Whether the window stays open.
    func perform(_ command: String) -> Bool {
        let words = command.split(separator: " ", maxSplits: 2).map(String.init)
        switch (words.first ?? "", words.dropFirst().first, words.dropFirst(2).first) {
        case ("", _, _): break
        case ("show", _, _): write(line)
        case ("set", "name", let name): settings.name = name ?? ""
        case ("set", "quality", let number):
            if let quality = number.flatMap(Double.init) { settings.quality = quality } else { complain(command) }
        case ("set", "color", let name):
            if let color = name.flatMap(Color.init(named:)) { settings.color = color } else { complain(command) }
        case ("toggle", "sounds", _): settings.isSilent.toggle()
        case ("apply", _, _): controller.save()
        case ("revert", _, _): controller.revert()
        case ("factory", _, _): controller.revertToInitialValues()
        case ("quit", _, _): return false
        default: complain(command)
        }
        // The next command may be "apply".
        for binding in bindings { binding.commit() }
        return true
    }

    private func complain(_ command: String) {
        write("\(command)? show, set name|quality|color VALUE, toggle sounds, apply, revert, factory, quit")
    }
}
