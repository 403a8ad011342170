import DefaultsClient
import Observation
import PropertyList
import Testing

@testable import DefaultsBindings
@testable import DefaultsKit

extension DefaultsKey where Value == Int {
    fileprivate static var width: Self { Self("width", default: 1) }
}

extension DefaultsKey where Value == String? {
    fileprivate static var title: Self { Self("title") }
}

@Suite("User defaults controller", .timeLimit(.minutes(1)))
struct UserDefaultsControllerTests {
    private let defaults = UserDefaults(inMemory: [:])
    private let controller: UserDefaultsController

    init() {
        controller = UserDefaultsController(defaults: defaults, initialValues: ["width": 5])
    }

    @Test("The shared controller has the standard defaults and no initial values, and applies immediately")
    func shared() {
        #expect(UserDefaultsController.shared.defaults === UserDefaults.standard)
        #expect(UserDefaultsController.shared.initialValues == [:])
        #expect(UserDefaultsController.shared.appliesImmediately)
        #expect(!UserDefaultsController.shared.hasUnappliedChanges)
    }

    @Test("A controller looks up a value in its buffer, then the defaults, then the initial values")
    func order() {
        #expect(controller.values.height == nil)
        #expect(controller.values[.width] == 5)
        defaults.register(defaults: ["width": 6])
        #expect(controller.values[.width] == 6)
        defaults[.width] = 7
        #expect(controller.values["width"] == 7)
        controller.appliesImmediately = false
        controller.values.width = 8
        #expect(controller.values.value(forKey: "width") as? Int == 8)
        #expect(defaults[.width] == 7)
    }

    @Test("A controller's initial values aren't visible in the defaults")
    func notRegistration() {
        #expect(defaults.object(forKey: "width") == nil)
        controller.setInitialValues(["title": "Untitled"])
        #expect(controller.values[.title] == "Untitled")
        #expect(controller.values[.width] == 1)
        #expect(defaults.values() == [:])
    }

    @Test("A value that can't be stored stays in the buffer, and doesn't discard the others")
    func refused() {
        controller.appliesImmediately = false
        controller.values[.width] = 2
        let key = "e" + String(repeating: "\u{301}", count: 129)
        controller.values.setValue("x", forKey: key)
        controller.save()
        #expect(defaults.values() == ["width": 2])
        #expect(controller.hasUnappliedChanges && controller.values[key] == "x")
        controller.revert()
        #expect(!controller.hasUnappliedChanges)
    }

    @Test("A controller that applies immediately never has unapplied changes")
    func immediately() {
        controller.values.setValue("Ada", forKey: "title")
        controller.values[.width] = 2
        #expect(defaults.values() == ["title": "Ada", "width": 2])
        #expect(!controller.hasUnappliedChanges)
        controller.values[.title] = nil
        controller.revert()
        #expect(defaults.values() == ["width": 2])
    }

    @Test("A lookup of a missing key causes no unapplied changes")
    func missingKeys() {
        controller.appliesImmediately = false
        #expect(controller.values.missing == nil)
        #expect(controller.values[.title] == nil)
        #expect(!controller.hasUnappliedChanges)
        controller.save()
        #expect(defaults.values() == [:])
    }

    @Test("A controller saves all unapplied changes as one change set, and nothing if there are none")
    func save() async {
        controller.appliesImmediately = false
        var snapshots = defaults.snapshots().makeAsyncIterator()
        #expect(await snapshots.next()?.values == [:])
        controller.save()
        controller.values[.width] = 2
        controller.values[.title] = "a"
        #expect(controller.hasUnappliedChanges)
        controller.save()
        #expect(!controller.hasUnappliedChanges)
        #expect(await snapshots.next()?.values == ["width": 2, "title": "a"])
    }

    @Test("An unapplied removal shows the value that will apply, and removes the key when saved")
    func removal() {
        defaults.register(defaults: ["title": "registered"])
        defaults[.title] = "set"
        defaults[.width] = 9
        controller.appliesImmediately = false
        controller.values[.title] = nil
        controller.values.width = nil
        #expect(controller.hasUnappliedChanges)
        #expect(controller.values[.title] == "registered")
        #expect(controller.values[.width] == 5)
        #expect(defaults[.title] == "set")
        controller.save()
        #expect(!controller.hasUnappliedChanges)
        #expect(defaults.values() == ["title": "registered"])
        #expect(controller.values[.title] == "registered")
    }

    @Test("A controller reverts to the values in the defaults")
    func revert() {
        controller.appliesImmediately = false
        for number in 0..<20 { controller.values["key \(number)"] = .integer(Int64(number)) }
        controller.values[.width] = 2
        controller.revert()
        #expect(!controller.hasUnappliedChanges)
        #expect(controller.values["key 3"] == nil)
        #expect(controller.values[.width] == 5)
        controller.save()
        #expect(defaults.values() == [:])
    }

    @Test("A controller that applies immediately restores the initial values in the defaults")
    func factoryImmediately() {
        defaults[.width] = 2
        defaults[.title] = "kept"
        controller.revertToInitialValues()
        #expect(defaults.values() == ["width": 5, "title": "kept"])
        #expect(!controller.hasUnappliedChanges)
    }

    @Test("A controller that doesn't apply immediately restores the initial values in its buffer, without other edits")
    func factoryOnApply() {
        defaults[.width] = 2
        controller.appliesImmediately = false
        controller.values[.title] = "dropped"
        controller.revertToInitialValues()
        #expect(controller.values[.width] == 5)
        #expect(controller.values[.title] == nil)
        #expect(defaults[.width] == 2)
        controller.save()
        #expect(defaults.values() == ["width": 5])
    }

    @Test("A controller without initial values keeps its edits when it reverts to them")
    func noFactory() {
        controller.initialValues = [:]
        controller.appliesImmediately = false
        controller.values[.width] = 2
        controller.revertToInitialValues()
        #expect(controller.values[.width] == 2)
        #expect(controller.hasUnappliedChanges)
    }

    @Test("A controller applies its unapplied changes when it starts to apply immediately")
    func becomesImmediate() {
        controller.appliesImmediately = false
        controller.values[.width] = 2
        controller.appliesImmediately = true
        #expect(defaults[.width] == 2)
        #expect(!controller.hasUnappliedChanges)
    }

    @Test("A controller ignores a value that can't be stored")
    func unstorable() {
        struct Unknown {}
        controller.values.setValue(Unknown(), forKey: "title")
        #expect(defaults.values() == [:])
        controller.values.setValue(nil, forKey: "title")
        #expect(defaults.values() == [:])
    }

    @Test("A key's updates follow the buffer, the defaults and the initial values, including removals")
    func updates() async {
        var updates = controller.updates(of: .width).makeAsyncIterator()
        #expect(await updates.next() == 5)
        controller.initialValues = ["width": 6]
        #expect(await updates.next() == 6)
        defaults[.width] = 7
        #expect(await updates.next() == 7)
        controller.appliesImmediately = false
        controller.values[.width] = 8
        #expect(await updates.next() == 8)
        // This change is hidden by the buffer, and then the save applies the same value.
        defaults[.width] = 9
        controller.save()
        controller.values[.width] = 10
        #expect(await updates.next() == 10)
        controller.revert()
        #expect(await updates.next() == 8)
        defaults.removeObject(forKey: "width")
        #expect(await updates.next() == 6)
    }

    @Test("A controller has updates of its own properties, and of values by key path")
    func properties() async {
        var unapplied = controller.updates(of: \.hasUnappliedChanges).makeAsyncIterator()
        var immediately = controller.updates(of: \.appliesImmediately).makeAsyncIterator()
        var initial = controller.updates(of: \.initialValues).makeAsyncIterator()
        var title = controller.updates(of: \.values.title).makeAsyncIterator()
        #expect(await unapplied.next() == false)
        #expect(await immediately.next() == true)
        #expect(await initial.next() == ["width": 5])
        #expect(await title.next() == .some(nil))
        controller.appliesImmediately = false
        controller.values[.title] = "a"
        controller.initialValues = [:]
        #expect(await unapplied.next() == true)
        #expect(await immediately.next() == false)
        #expect(await initial.next() == [:])
        #expect(await title.next() == "a")
        controller.save()
        #expect(await unapplied.next() == false)
    }

    @Test(
        "A controller reports changes to its values and properties to Observation",
        arguments: ["value", "removal", "unapplied", "initial"])
    func observation(_ change: String) async {
        defaults[.title] = "old"
        controller.appliesImmediately = false
        let (changes, told) = AsyncStream.makeStream(of: Void.self)
        withObservationTracking {
            switch change {
            case "unapplied": _ = controller.hasUnappliedChanges
            case "initial": _ = controller.initialValues
            default: _ = controller.values[.title]
            }
        } onChange: {
            told.yield()
        }
        switch change {
        case "removal": defaults.removeObject(forKey: "title")
        case "initial": controller.initialValues = [:]
        default: controller.values[.title] = "new"
        }
        for await _ in changes { break }
    }

    @Test("A controller used by several threads loses no edit and shows no outdated value")
    func threads() async {
        controller.appliesImmediately = false
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<4 {
                group.addTask { [controller] in
                    let key = DefaultsKey("key \(task)", default: 0)
                    for number in 1...500 {
                        controller.values[key] = number
                        if number % 3 == 0 { controller.save() }
                        let seen = controller.values[key]
                        #expect(seen == number)
                    }
                }
            }
        }
        controller.save()
        #expect(!controller.hasUnappliedChanges)
        for task in 0..<4 { #expect(defaults.integer(forKey: "key \(task)") == 500) }
    }

    @Test("Of very many keys, a controller tracks some separately and the rest together")
    func manyKeys() {
        var state = ControllerState(initialValues: [:])
        _ = state.setAppliesImmediately(false)
        let tracked = (0..<2_000).map { ObjectIdentifier(state.track("key-\($0)")) }
        #expect(Set(tracked).count == SearchList.maximumTracked + 1)
        for number in [1, 1_998, 1_999] {
            let old = state.contents
            _ = state.set(["key-\(number)": 1])
            #expect(state.concerned(since: old).tracked.map(ObjectIdentifier.init) == [tracked[number]])
        }
    }
}
