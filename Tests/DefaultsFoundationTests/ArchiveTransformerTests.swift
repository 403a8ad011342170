import DefaultsCore
import DefaultsFoundation
import DefaultsKit
import Foundation
import Observation
import PropertyList
import Synchronization
import TestSupport
import Testing

/// What shows a colour, and lets one choose another.
@Observable
@MainActor
private final class ColorWell {
    var color: Color?
}

@Suite("A colour well that is bound to an archive", .timeLimit(.minutes(1)))
@MainActor
struct ArchiveTransformerTests {
    private let sky = Color(name: "sky", components: [0.25, 0.5, 1])
    private let sun = Color(name: "sun", components: [1, 1, 0])
    private let colorWell = ColorWell()

    @Test("shows what is stored, and stores what is chosen")
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

    @Test("follows what is stored elsewhere, and stores by itself")
    func follows() async {
        let defaults = DefaultsKit.UserDefaults(inMemory: [:])
        let controller = UserDefaultsController(defaults: defaults)
        let binding = controller.bind(colorWell, \.color, to: "theColor", transformer: .unarchiveFromData)
        #expect(colorWell.color == nil)
        defaults.set(archiving: sky, forKey: "theColor")
        await until { colorWell.color == sky }
        colorWell.color = sun
        await until { defaults.unarchivedObject(of: Color.self, forKey: "theColor") == sun }
        binding.unbind()
    }

    @Test("has its colour again at the next launch")
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
        let live = LiveDomains(.success(try LivePlace(environment: environment)))
        defer { live.close() }
        let suite = DefaultsKit.UserDefaults(suiteName: "org.example.colors", in: live)
        let defaults = try #require(suite)
        try body(UserDefaultsController(defaults: defaults), defaults)
    }

    @Test("shows none for a damaged archive, tells of it, and leaves it")
    func damaged() async {
        await #expect(processExitsWith: .success) { @MainActor in
            let problems = Mutex<[DefaultsProblem]>([])
            DefaultsKit.UserDefaults.onProblem { problem in problems.withLock { $0.append(problem) } }
            let defaults = DefaultsKit.UserDefaults(inMemory: ["theColor": .data([1, 2, 3])])
            let controller = UserDefaultsController(defaults: defaults)
            let colorWell = ColorWell()
            colorWell.color = Color(name: "own", components: [])
            let binding = controller.bind(colorWell, \.color, to: "theColor", transformer: .unarchiveFromData)
            #expect(colorWell.color == nil)
            let told = problems.withLock(\.self)
            #expect(told.first?.matter == .archive)
            #expect(told.first?.description.hasPrefix("\"theColor\" of ") == true, "\(told)")
            #expect(told.first?.description.contains(" gives no Color: it is not a keyed archive. ") == true)
            // Once, however often it is presented.
            controller.revert()
            binding.commit()
            controller.values["theColor"] = .data([1, 2, 3])
            binding.commit()
            #expect(problems.withLock(\.count) == 1)
            #expect(defaults.data(forKey: "theColor") == Data([1, 2, 3]))
            defaults.set("red", forKey: "theColor")
            binding.commit()
            #expect(problems.withLock(\.last)?.description.contains(" gives no Color: its value is not data. ") == true)
            #expect(problems.withLock(\.count) == 2)
            #expect(colorWell.color == nil)
            binding.unbind()
        }
    }

    /// Lets the actor go on until something is so; the suite's time limit ends it otherwise.
    private func until(_ isSo: () -> Bool) async {
        while !isSo(), !Task.isCancelled { await Task.yield() }
    }
}
