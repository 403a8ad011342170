import Observation
import PropertyList
import Testing

@testable import DefaultsKit

extension DefaultsKey where Value == Int {
    fileprivate static var width: Self { Self("width", default: 1) }
}

extension DefaultsKey where Value == String? {
    fileprivate static var title: Self { Self("title") }
}

@Suite("A controller", .timeLimit(.minutes(1)))
struct UserDefaultsControllerTests {
    private let defaults = UserDefaults(inMemory: [:])
    private let controller: UserDefaultsController

    init() {
        controller = UserDefaultsController(defaults: defaults, initialValues: ["width": 5])
    }

    @Test("that is shared has the standard defaults, no initial values, and applies immediately")
    func shared() {
        #expect(UserDefaultsController.shared.defaults === UserDefaults.standard)
        #expect(UserDefaultsController.shared.initialValues == [:])
        #expect(UserDefaultsController.shared.appliesImmediately)
        #expect(!UserDefaultsController.shared.hasUnappliedChanges)
    }

    @Test("looks values up in its buffer, the defaults, the initial values, in that order")
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

    @Test("has initial values that the defaults don't see")
    func notRegistration() {
        #expect(defaults.object(forKey: "width") == nil)
        controller.setInitialValues(["title": "Untitled"])
        #expect(controller.values[.title] == "Untitled")
        #expect(controller.values[.width] == 1)
        #expect(defaults.values() == [:])
    }

    @Test("applies immediately what is set, and has nothing to apply then")
    func immediately() {
        controller.values.setValue("Ada", forKey: "title")
        controller.values[.width] = 2
        #expect(defaults.values() == ["title": "Ada", "width": 2])
        #expect(!controller.hasUnappliedChanges)
        controller.values[.title] = nil
        controller.revert()
        #expect(defaults.values() == ["width": 2])
    }

    @Test("has no unapplied changes for having looked for a key that is missing")
    func missingKeys() {
        controller.appliesImmediately = false
        #expect(controller.values.missing == nil)
        #expect(controller.values[.title] == nil)
        #expect(!controller.hasUnappliedChanges)
        controller.save()
        #expect(defaults.values() == [:])
    }

    @Test("saves all that waits as one change set, and nothing when nothing waits")
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

    @Test("applies a removal that waits as a removal, and shows what will be there")
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

    @Test("reverts to what the defaults have")
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

    @Test("reverts to the initial values in the defaults when it applies immediately")
    func factoryImmediately() {
        defaults[.width] = 2
        defaults[.title] = "kept"
        controller.revertToInitialValues()
        #expect(defaults.values() == ["width": 5, "title": "kept"])
        #expect(!controller.hasUnappliedChanges)
    }

    @Test("reverts to the initial values in its buffer when it doesn't, and drops other edits")
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

    @Test("without initial values reverts to none, and keeps the edits")
    func noFactory() {
        controller.initialValues = [:]
        controller.appliesImmediately = false
        controller.values[.width] = 2
        controller.revertToInitialValues()
        #expect(controller.values[.width] == 2)
        #expect(controller.hasUnappliedChanges)
    }

    @Test("applies what waits when it is to apply immediately from now on")
    func becomesImmediate() {
        controller.appliesImmediately = false
        controller.values[.width] = 2
        controller.appliesImmediately = true
        #expect(defaults[.width] == 2)
        #expect(!controller.hasUnappliedChanges)
    }

    @Test("stores nothing for a value that can't be stored")
    func unstorable() {
        struct Unknown {}
        controller.values.setValue(Unknown(), forKey: "title")
        #expect(defaults.values() == [:])
        controller.values.setValue(nil, forKey: "title")
        #expect(defaults.values() == [:])
    }

    @Test("has updates of a key by its buffer, the defaults and the initial values, removals too")
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
        // Hidden, and then the same value.
        defaults[.width] = 9
        controller.save()
        controller.values[.width] = 10
        #expect(await updates.next() == 10)
        controller.revert()
        #expect(await updates.next() == 8)
        defaults.removeObject(forKey: "width")
        #expect(await updates.next() == 6)
    }

    @Test("has updates of its own properties, and of values by their key paths")
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
        "tells Observation of its values and its properties", arguments: ["value", "removal", "unapplied", "initial"])
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

    @Test("loses nothing that several threads set and save at once, and shows no old value meanwhile")
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
}
