import DefaultsBindings
import DefaultsFoundation
import DefaultsKit
import Foundation
import Observation
import PropertyList
import Testing

extension DefaultsKey where Value == String {
    fileprivate static var userName: Self { Self("userName", default: "") }
}

/// "User Defaults Programming Topics for Cocoa", on user defaults and bindings.
@Suite("User Defaults and Bindings", .timeLimit(.minutes(1)))
@MainActor
struct BindingsTests {
    private let defaults = UserDefaults(inMemory: [:])

    @Test("A controller applies changes immediately")
    func immediately() {
        let controller = UserDefaultsController(defaults: defaults)
        controller.values["key"] = 1
        #expect(defaults.integer(forKey: "key") == 1)
        #expect(!controller.hasUnappliedChanges)
    }

    @Test("A controller can wait for an Apply button")
    func apply() {
        let controller = UserDefaultsController(defaults: defaults)
        controller.appliesImmediately = false
        controller.values["key"] = 1
        #expect(defaults.object(forKey: "key") == nil)
        #expect(controller.hasUnappliedChanges)
        controller.save()
        #expect(defaults.integer(forKey: "key") == 1)
        #expect(!controller.hasUnappliedChanges)
    }

    @Test("A controller reverts to the values that were last applied")
    func revert() {
        let controller = UserDefaultsController(defaults: defaults)
        controller.appliesImmediately = false
        controller.values["key"] = 1
        controller.save()
        controller.values["key"] = 2
        controller.revert()
        #expect(controller.values["key"] == 1)
        #expect(!controller.hasUnappliedChanges)
    }

    @Test("A controller restores factory defaults, and leaves keys without one alone")
    func factoryDefaults() {
        let controller = UserDefaultsController(defaults: defaults, initialValues: ["color": "grey"])
        controller.values["color"] = "red"
        controller.values["other"] = 1
        controller.revertToInitialValues()
        #expect(defaults.string(forKey: "color") == "grey")
        #expect(defaults.integer(forKey: "other") == 1)
    }

    @Test("The shared controller has the standard defaults, no initial values, and applies changes immediately")
    func shared() {
        #expect(UserDefaultsController.shared === UserDefaultsController.shared)
        #expect(UserDefaultsController.shared.defaults === UserDefaults.standard)
        #expect(UserDefaultsController.shared.initialValues.isEmpty)
        #expect(UserDefaultsController.shared.appliesImmediately)
    }

    @Test("Controller settings made after a binding apply to it as well")
    func settingsLater() {
        let controller = UserDefaultsController(defaults: defaults)
        let field = TextField()
        let binding = controller.bind(field, \.value, to: "userName")
        controller.appliesImmediately = false
        controller.initialValues = ["userName": "Nobody"]
        field.value = "Ada"
        binding.commit()
        #expect(defaults.object(forKey: "userName") == nil)
        #expect(controller.hasUnappliedChanges)
    }

    @Test("Listing 1 binds a text field to userName, continuously")
    func textField() async {
        let controller = UserDefaultsController(defaults: defaults)
        defaults.set("Mike", forKey: "userName")
        let theTextField = TextField()
        let binding = controller.bind(theTextField, \.value, to: "userName", commit: .continuously)
        #expect(theTextField.value == "Mike")

        // Each edit reaches the defaults automatically.
        theTextField.value = "Mike B"
        for await name in defaults.updates(of: .userName) where name == "Mike B" { break }

        // Each change reaches the text field.
        defaults.set("Ada", forKey: "userName")
        for await value in Observations({ theTextField.value }) where value == "Ada" { break }
        binding.unbind()
    }

    @Test("Initial values don't replace registered values")
    func noSubstitute() {
        let controller = UserDefaultsController(defaults: defaults, initialValues: ["key": "initial"])
        #expect(controller.values["key"] == "initial")
        #expect(defaults.object(forKey: "key") == nil)
        defaults.register(defaults: ["key": "registered"])
        #expect(defaults.string(forKey: "key") == "registered")
        #expect(controller.values["key"] == "registered")
    }

    /// Listing 2.
    private func setupDefaults(_ defaults: UserDefaults, _ controller: UserDefaultsController) throws {
        // load the default values for the user defaults, and set them in the user defaults
        let userDefaultsValues = try defaults.registerDefaults(fromResource: "UserDefaults", in: .module)
        // set those that can be reset in the controller
        let resettableUserDefaultsKeys = ["Value1", "Value2", "Value3"]
        controller.initialValues = userDefaultsValues.filter { resettableUserDefaultsKeys.contains($0.key) }
    }

    @Test("Listing 2 registers a file's values, and makes some of them the initial values")
    func initialValues() throws {
        let controller = UserDefaultsController(defaults: defaults)
        try setupDefaults(defaults, controller)
        #expect(defaults.double(forKey: "Value4") == 4.5)
        #expect(controller.initialValues == ["Value1": 1, "Value2": "two", "Value3": true])
        controller.values["Value1"] = 10
        controller.values["Value4"] = 40
        controller.revertToInitialValues()
        #expect(defaults.integer(forKey: "Value1") == 1)
        #expect(defaults.integer(forKey: "Value4") == 40)
    }

    @Test("A value is looked up in the unapplied changes, then the defaults, then the initial values")
    func searchOrder() {
        let controller = UserDefaultsController(defaults: defaults, initialValues: ["key": "initial"])
        controller.appliesImmediately = false
        #expect(controller.values["nothing"] == nil)
        #expect(controller.values["key"] == "initial")
        defaults.set("stored", forKey: "key")
        #expect(controller.values["key"] == "stored")
        controller.values["key"] = "unapplied"
        #expect(controller.values["key"] == "unapplied")
    }

    @Test("The defaults themselves contain neither unapplied changes nor initial values")
    func directly() {
        let controller = UserDefaultsController(defaults: defaults, initialValues: ["a": 1])
        controller.appliesImmediately = false
        controller.values["b"] = 2
        #expect(defaults.object(forKey: "a") == nil)
        #expect(defaults.object(forKey: "b") == nil)
    }

    @Test("`value(forKey:)` and `setValue(_:forKey:)` access values, and bindings are notified")
    func keyValueCoding() async {
        let controller = UserDefaultsController(defaults: defaults)
        let field = TextField()
        let binding = controller.bind(field, \.value, to: "userName")
        let newUserName = "Ada"
        controller.values.setValue(newUserName, forKey: "userName")
        #expect(controller.values.value(forKey: "userName") as? String == "Ada")
        for await value in Observations({ field.value }) where value == "Ada" { break }
        binding.unbind()
    }
}
