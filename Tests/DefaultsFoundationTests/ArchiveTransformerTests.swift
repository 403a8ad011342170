import DefaultsBindings
import DefaultsClient
import DefaultsCore
import DefaultsFoundation
import DefaultsKit
import Foundation
import Observation
import PropertyList
import Synchronization
import TestSupport
import Testing

/// A control that shows a color and lets the user choose another.
@Observable
@MainActor
private final class ColorWell {
    var color: Color?
}

@Suite("A color well bound to an archive", .timeLimit(.minutes(1)))
@MainActor
struct ArchiveTransformerTests {
    private let sky = Color(name: "sky", components: [0.25, 0.5, 1])
    private let sun = Color(name: "sun", components: [1, 1, 0])
    private let colorWell = ColorWell()

    @Test("The color well shows the stored color, and stores the chosen one")
    func bothWays() throws {
        let defaults = DefaultsKit.UserDefaults(inMemory: [:])
        defaults.set(archiving: sky, forKey: "theColor")
        let controller = UserDefaultsController(defaults: defaults)
        let binding = controller.bind(colorWell, \.color, to: "theColor", transformer: .unarchiveFromData)
        #expect(colorWell.color == sky)
        colorWell.color = sun
        binding.commit()
        #expect(defaults.unarchivedObject(of: Color.self, forKey: "theColor") == sun)
        colorWell.color = nil
        binding.commit()
        #expect(defaults.object(forKey: "theColor") == nil)
    }

    @Test("The color well follows changes to the stored color, and stores automatically")
    func follows() async {
        let defaults = DefaultsKit.UserDefaults(inMemory: [:])
        let controller = UserDefaultsController(defaults: defaults)
        let binding = controller.bind(colorWell, \.color, to: "theColor", transformer: .unarchiveFromData)
        #expect(colorWell.color == nil)
        defaults.set(archiving: sky, forKey: "theColor")
        #expect(await until { colorWell.color == sky })
        colorWell.color = sun
        #expect(await until { defaults.unarchivedObject(of: Color.self, forKey: "theColor") == sun })
        binding.unbind()
    }

    @Test("The color well has its color again after a relaunch")
    func relaunch() async throws {
        try withTemporaryDirectory { path in
            let environment = Environment(["DEFAULTS_DIRECTORY": path, "XDG_RUNTIME_DIR": path])
            try launch(environment) { controller, defaults in
                let binding = controller.bind(colorWell, \.color, to: "theColor", transformer: .unarchiveFromData)
                colorWell.color = sky
                binding.commit()
                try defaults.save()
            }
            let other = ColorWell()
            try launch(environment) { controller, _ in
                let binding = controller.bind(other, \.color, to: "theColor", transformer: .unarchiveFromData)
                #expect(other.color == sky)
                binding.unbind()
            }
        }
    }

    private func launch(
        _ environment: Environment, _ body: (UserDefaultsController, DefaultsKit.UserDefaults) throws -> Void
    ) throws {
        let client = Client(.success(try Location(environment: environment)))
        defer { client.close() }
        let suite = DefaultsKit.UserDefaults(suiteName: "org.example.colors", in: client)
        let defaults = try #require(suite)
        try body(UserDefaultsController(defaults: defaults), defaults)
    }

    @Test("For a damaged archive, the color well shows no color, and the archive is reported and preserved")
    func damaged() async {
        await #expect(processExitsWith: .success) { @MainActor in
            let problems = Mutex<[DefaultsProblem]>([])
            DefaultsKit.UserDefaults.setProblemHandler { problem in problems.withLock { $0.append(problem) } }
            let defaults = DefaultsKit.UserDefaults(inMemory: ["theColor": .data([1, 2, 3])])
            let controller = UserDefaultsController(defaults: defaults)
            let colorWell = ColorWell()
            colorWell.color = Color(name: "own", components: [])
            let binding = controller.bind(colorWell, \.color, to: "theColor", transformer: .unarchiveFromData)
            #expect(colorWell.color == nil)
            let told = problems.withLock(\.self)
            #expect(told.first?.code == .archive)
            #expect(told.first?.description.hasPrefix("\"theColor\" of ") == true, "\(told)")
            let reason = " can't be unarchived as Color: it is not a keyed archive. "
            #expect(told.first?.description.contains(reason) == true, "\(told)")
            // Reported once, however often it is presented.
            controller.revert()
            binding.commit()
            controller.values["theColor"] = .data([1, 2, 3])
            binding.commit()
            #expect(problems.withLock(\.count) == 1)
            #expect(defaults.data(forKey: "theColor") == Data([1, 2, 3]))
            defaults.set("red", forKey: "theColor")
            binding.commit()
            let last = problems.withLock(\.last)?.description
            #expect(last?.contains(" can't be unarchived as Color: its value is not data. ") == true)
            #expect(problems.withLock(\.count) == 2)
            #expect(colorWell.color == nil)
            binding.unbind()
        }
    }
}
