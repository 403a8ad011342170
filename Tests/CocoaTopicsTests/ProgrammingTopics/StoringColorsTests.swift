import DefaultsFoundation
import DefaultsKit
import Foundation
import Observation
import ProgramSupport
import PropertyList
import Testing

/// Listings 3 and 4: the extension, whose use is another file's business.
extension UserDefaults {
    fileprivate func setColor(_ color: Color?, forKey key: String) { set(archiving: color, forKey: key) }
    fileprivate func color(forKey key: String) -> Color? { unarchivedObject(of: Color.self, forKey: key) }
}

/// "User Defaults Programming Topics for Cocoa", on storing NSColor.
@Suite("Storing NSColor in User Defaults", .timeLimit(.minutes(1)))
@MainActor
struct StoringColorsTests {
    @Test("Listings 1 and 2 archive a colour into data, and have it back")
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
                // What was stored so is had back in one call, too.
                #expect(defaults.unarchivedObject(of: Color.self, forKey: "aKey") == .red)
            }
        }
    }

    @Test("Listings 3 and 4 give the defaults methods for colours")
    func methods() throws {
        try App.with { app in
            try app.launch { $0.setColor(.blue, forKey: "aKey") }
            try app.launch { defaults in
                #expect(defaults.color(forKey: "aKey") == .blue)
                #expect(defaults.color(forKey: "another") == nil)
            }
        }
    }

    /// What a launch of the documents' application has: a colour well, bound as the inspector shows it.
    private func openWindow(
        _ defaults: UserDefaults
    ) -> (well: ColorWell, binding: UserDefaultsController.Binding) {
        let well = ColorWell()
        let controller = UserDefaultsController(defaults: defaults)
        return (well, controller.bind(well, \.value, to: "theColor", transformer: .unarchiveFromData))
    }

    @Test("A colour well has the colour after a relaunch that it had when it was last changed")
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

    @Test("Listing 5 has a view draw itself anew in the colour that the well is given")
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
        // Nobody commits: the well can be observed.
        for await color in Observations({ theColorBox.backgroundColor }) where color == .red { break }
        #expect(theColorBox.needsDisplay)
        wellBinding.unbind()
        boxBinding.unbind()
    }

    @Test("A colour is stored when the app ends, and read when it begins")
    func lifeCycle() throws {
        try App.with { app in
            var textColor = Color.blue
            // applicationShouldTerminate: nothing is saved by hand afterwards.
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

    @Test("Here a colour can be a Codable value as well, which people can read in the file")
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
