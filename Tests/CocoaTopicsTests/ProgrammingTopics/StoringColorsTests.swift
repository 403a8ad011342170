import DefaultsBindings
import DefaultsFoundation
import DefaultsKit
import Foundation
import Observation
import ProgramSupport
import PropertyList
import Testing

/// Listings 3 and 4: the extension; other files use it.
extension UserDefaults {
    fileprivate func setColor(_ color: Color?, forKey key: String) { set(archiving: color, forKey: key) }
    fileprivate func color(forKey key: String) -> Color? { unarchivedObject(of: Color.self, forKey: key) }
}

/// "User Defaults Programming Topics for Cocoa", on storing NSColor.
@Suite("Storing NSColor in User Defaults", .timeLimit(.minutes(1)))
@MainActor
struct StoringColorsTests {
    @Test("Listings 1 and 2 archive a color into data, and read it back")
    func archiving() throws {
        try App.with { app in
            try app.launch { defaults in
                let data = try NSKeyedArchiver.archivedData(withRootObject: Color.red, requiringSecureCoding: true)
                defaults.set(data, forKey: "aKey")
            }
            try app.launch { defaults in
                var color: Color?
                if let data = defaults.data(forKey: "aKey") {
                    color = try NSKeyedUnarchiver.unarchivedObject(ofClass: Color.self, from: data)
                }
                #expect(color == .red)
                // An object stored in this way can also be read back in one call.
                #expect(defaults.unarchivedObject(of: Color.self, forKey: "aKey") == .red)
            }
        }
    }

    @Test("Listings 3 and 4 add methods for colors to the defaults")
    func methods() throws {
        try App.with { app in
            try app.launch { $0.setColor(.blue, forKey: "aKey") }
            try app.launch { defaults in
                #expect(defaults.color(forKey: "aKey") == .blue)
                #expect(defaults.color(forKey: "another") == nil)
            }
        }
    }

    /// Launches the documents' application: a color well, bound as the inspector shows.
    private func openWindow(
        _ defaults: UserDefaults
    ) -> (well: ColorWell, binding: UserDefaultsController.Binding) {
        let well = ColorWell()
        let controller = UserDefaultsController(defaults: defaults)
        return (well, controller.bind(well, \.value, to: "theColor", transformer: .unarchiveFromData))
    }

    @Test("After a relaunch, a color well shows the color that was last chosen")
    func colorWell() throws {
        try App.with { app in
            try app.launch { defaults in
                let (well, binding) = openWindow(defaults)
                #expect(well.value == nil)
                well.value = .blue
                binding.commit()
                well.value = .red
                binding.commit()
            }
            try app.launch { defaults in
                let (well, binding) = openWindow(defaults)
                #expect(well.value == .red)
                binding.unbind()
            }
        }
    }

    @Test("Listing 5 makes a view redraw itself in the well's new color")
    func listing5() async throws {
        let defaults = UserDefaults(inMemory: [:])
        let (theColorWell, wellBinding) = openWindow(defaults)
        let theColorBox = ColorBox()
        let boxBinding = UserDefaultsController(defaults: defaults)
            .bind(theColorBox, \.backgroundColor, to: "theColor", transformer: .unarchiveFromData)
        #expect(theColorBox.backgroundColor == nil)
        theColorBox.display()
        #expect(!theColorBox.needsDisplay)
        theColorWell.value = .red
        // Nothing calls `commit()`: the well can be observed.
        for await color in Observations({ theColorBox.backgroundColor }) where color == .red { break }
        #expect(theColorBox.needsDisplay)
        wellBinding.unbind()
        boxBinding.unbind()
    }

    @Test("A color is stored when the app quits, and read when it launches")
    func lifeCycle() throws {
        try App.with { app in
            var textColor = Color.blue
            // applicationShouldTerminate: nothing else is saved explicitly.
            try app.launch { $0.setColor(textColor, forKey: "textColor") }
            textColor = .red
            // awakeFromNib
            try app.launch { textColor = $0.color(forKey: "textColor") ?? textColor }
            #expect(textColor == .blue)
        }
    }

    private struct ColorValue: Codable, Hashable, DefaultsValue {
        var red, green, blue: Double
    }

    @Test("A color can also be a Codable value, which people can read in the file")
    func codable() throws {
        try App.with { app in
            let key = DefaultsKey<ColorValue?>("theColor")
            let orange = ColorValue(red: 1, green: 0.5, blue: 0)
            try app.launch { $0[key] = orange }
            #expect(try app.place.read(app.path) == ["theColor": ["red": 1.0, "green": 0.5, "blue": 0.0]])
            try app.launch { #expect($0[key] == orange) }
        }
    }
}
