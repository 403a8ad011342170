import Observation
import PropertyList
import TestSupport
import Testing

@testable import DefaultsBindings
@testable import DefaultsKit

extension DefaultsKey where Value == String {
    fileprivate static var title: Self { Self("title", default: "Untitled") }
}

extension DefaultsKey where Value == Bool {
    fileprivate static var sounds: Self { Self("sounds", default: true) }
}

extension DefaultsKey where Value == String? {
    fileprivate static var author: Self { Self("author") }
}

@MainActor
@Observable
private final class Document {
    var title = "own"
    var isSilent = false
    var hasAuthor = false
    var hasNoAuthor = false
    var percent = 0
    @ObservationIgnored var sets = 0
    @ObservationIgnored var binding: UserDefaultsController.Binding?
}

/// A class that doesn't support observation.
@MainActor
private final class Field {
    var text = "own" {
        didSet { sets += 1 }
    }
    var sets = 0
}

private actor Player {
    var title = ""
    private var binding: UserDefaultsController.Binding?

    func bind(_ controller: UserDefaultsController) -> String {
        let track = Track()
        binding = controller.bind(track, \.title, to: .title)
        self.track = track
        return track.title
    }

    func rename(_ title: String) {
        track?.title = title
        binding?.commit()
    }

    private var track: Track?

    private final class Track {
        var title = ""
    }
}

@Suite("Bindings of a controller", .timeLimit(.minutes(1)))
@MainActor
struct BindingTests {
    private let defaults = UserDefaults(inMemory: [:])
    private let controller: UserDefaultsController
    private let document = Document()

    init() {
        controller = UserDefaultsController(defaults: defaults)
    }

    @Test("A binding sets its property immediately and after each change to the key")
    func fromKey() async {
        let binding = controller.bind(document, \.title, to: .title)
        #expect(document.title == "Untitled")
        defaults[.title] = "a"
        #expect(await until { document.title == "a" })
        defaults.removeObject(forKey: "title")
        #expect(await until { document.title == "Untitled" })
        binding.unbind()
    }

    @Test("A binding sets its key when the observable property is edited")
    func fromProperty() async {
        let binding = controller.bind(document, \.title, to: .title)
        for title in ["a", "b", "c"] {
            document.title = title
            #expect(await until { defaults[.title] == title })
        }
        defaults[.title] = "d"
        #expect(await until { document.title == "d" })
        document.title = "e"
        #expect(await until { defaults[.title] == "e" })
        binding.unbind()
    }

    @Test("The later of an edit and a change to the key wins, when both are made before the actor's next turn")
    func laterWins() async {
        let binding = controller.bind(document, \.title, to: .title)
        document.title = "a"
        defaults[.title] = "b"
        #expect(await until { document.title == "b" } && defaults[.title] == "b")
        defaults[.title] = "c"
        document.title = "d"
        #expect(await until { defaults[.title] == "d" } && document.title == "d")
        document.title = "e"
        defaults[.title] = "f"
        document.title = "g"
        #expect(await until { defaults[.title] == "g" } && document.title == "g")
        controller.appliesImmediately = false
        document.title = "h"
        controller.values[.title] = "i"
        #expect(await until { document.title == "i" } && defaults[.title] == "g")
        binding.unbind()
    }

    @Test("A binding by key name leaves the property unchanged without a value, and stores nothing by itself")
    func byName() async {
        let binding = controller.bind(document, \.title, to: "title")
        #expect(document.title == "own")
        #expect(defaults.values() == [:])
        defaults.set("a", forKey: "title")
        #expect(await until { document.title == "a" })
        defaults.set([1], forKey: "title")
        #expect(await until { document.title == "own" })
        #expect(defaults.array(forKey: "title") as? [Int] == [1])
        binding.unbind()
    }

    @Test("A binding of a property that isn't observable sets the key only on commit")
    func commit() async {
        let field = Field()
        let binding = controller.bind(field, \.text, to: .title)
        field.text = "a"
        #expect(defaults.values() == [:])
        binding.commit()
        #expect(defaults[.title] == "a")
        binding.unbind()
        field.text = "b"
        binding.commit()
        #expect(defaults[.title] == "a")
    }

    @Test("A binding keeps an uncommitted edit when the key changes, and doesn't store it")
    func uncommitted() async {
        let field = Field()
        let bindings = [
            controller.bind(field, \.text, to: .title), controller.bind(document, \.title, to: .title),
        ]
        field.text = "typing"
        defaults[.title] = "a"
        #expect(await until { document.title == "a" })
        #expect(field.text == "typing" && defaults[.title] == "a")
        // The edit is undone, so the key's new value may be shown.
        field.text = "Untitled"
        bindings[0].commit()
        #expect(field.text == "a" && defaults[.title] == "a")
    }

    @Test("A binding on demand waits for a commit even with an observable property")
    func onDemand() async {
        let binding = controller.bind(document, \.title, to: .title, commit: .onDemand)
        let other = controller.bind(document, \.isSilent, to: "silent")
        document.title = "a"
        document.isSilent = true
        #expect(await until { defaults.bool(forKey: "silent") })
        #expect(defaults.values() == ["silent": true])
        // A change by another program doesn't overwrite the edit.
        defaults[.title] = "b"
        defaults.set(false, forKey: "silent")
        #expect(await until { !document.isSilent })
        #expect(document.title == "a")
        binding.commit()
        #expect(defaults[.title] == "a")
        other.unbind()
    }

    @Test("A binding writes to the controller's buffer, and a revert discards uncommitted edits")
    func buffer() async {
        controller.appliesImmediately = false
        let field = Field()
        let bindings = [
            controller.bind(document, \.title, to: .title), controller.bind(field, \.text, to: .title),
        ]
        document.title = "a"
        #expect(await until { field.text == "a" })
        #expect(controller.hasUnappliedChanges)
        #expect(defaults.values() == [:])
        controller.save()
        #expect(defaults[.title] == "a")
        document.title = "b"
        #expect(await until { field.text == "b" })
        field.text = "typing"
        controller.revert()
        #expect(await until { document.title == "a" && field.text == "a" })
        #expect(!controller.hasUnappliedChanges)
        #expect(bindings.count == 2)
    }

    @Test("A binding sets its property once per change and doesn't set the key again")
    func noLoop() async {
        let field = Field()
        let binding = controller.bind(field, \.text, to: .title)
        #expect(field.sets == 1)
        defaults.set(5, forKey: "title")
        #expect(await until { field.text == "5" })
        field.text = "6"
        binding.commit()
        defaults.set("7", forKey: "title")
        #expect(await until { field.text == "7" })
        #expect(field.sets == 4)
        binding.commit()
        #expect(defaults.propertyListValue(forKey: "title") == "7")
    }

    @Test("A binding keeps the stored form of a value that the property's type reads differently")
    func otherForm() async {
        defaults.set("50", forKey: "percent")
        let binding = controller.bind(document, \.percent, to: "percent")
        #expect(document.percent == 50)
        binding.commit()
        #expect(defaults.propertyListValue(forKey: "percent") == "50")
        document.percent = 51
        #expect(await until { defaults.propertyListValue(forKey: "percent") == 51 })
    }

    @Test("A binding converts values in both directions with a transformer")
    func transformers() async {
        let percent = DefaultsTransformer<Double, Int>(
            present: { Int($0 * 100) }, store: { Double($0) / 100 })
        let bindings = [
            controller.bind(document, \.isSilent, to: .sounds, transformer: .negateBoolean),
            controller.bind(document, \.hasAuthor, to: .author, transformer: .isNotNil),
            controller.bind(
                document, \.hasNoAuthor, to: "author",
                transformer: DefaultsTransformer<PropertyListValue?, Bool>.isNil),
            controller.bind(document, \.percent, to: "quality", transformer: percent),
        ]
        #expect(!document.isSilent && !document.hasAuthor && document.hasNoAuthor && document.percent == 0)
        document.isSilent = true
        document.percent = 50
        #expect(await until { defaults.values() == ["sounds": false, "quality": 0.5] })
        defaults[.author] = "Ada"
        defaults[.sounds] = true
        #expect(await until { document.hasAuthor && !document.hasNoAuthor && !document.isSilent })
        // This transformer doesn't convert back.
        document.hasAuthor = false
        bindings[1].commit()
        #expect(defaults[.author] == "Ada")
    }

    @Test("A binding stores nothing if its transformer throws")
    func throwingTransformer() {
        struct Refusal: Error {}
        let refusing = DefaultsTransformer<Int, Int>(present: { $0 }, store: { _ in throw Refusal() })
        defaults.set(1, forKey: "percent")
        let binding = controller.bind(document, \.percent, to: "percent", transformer: refusing, commit: .onDemand)
        document.percent = 2
        binding.commit()
        #expect(defaults.integer(forKey: "percent") == 1)
    }

    @Test("A binding ends when it is unbound or released")
    func ends() async {
        var bindings = [
            controller.bind(document, \.title, to: .title), controller.bind(document, \.percent, to: "percent"),
        ]
        let other = controller.bind(document, \.isSilent, to: "silent")
        bindings[0].unbind()
        bindings[0].unbind()
        bindings.removeLast()
        defaults[.title] = "a"
        defaults.set(5, forKey: "percent")
        defaults.set(true, forKey: "silent")
        #expect(await until { document.isSilent })
        #expect(document.title == "Untitled" && document.percent == 0)
        document.title = "b"
        document.isSilent = false
        #expect(await until { !defaults.bool(forKey: "silent") })
        #expect(defaults[.title] == "a")
        other.unbind()
    }

    @Test("A binding keeps no object alive, even one that holds the binding")
    func noCycle() async {
        weak var gone: Document?
        weak var binding: UserDefaultsController.Binding?
        do {
            let document = Document()
            document.binding = controller.bind(document, \.title, to: .title)
            gone = document
            binding = document.binding
            defaults[.title] = "a"
            #expect(await until { document.title == "a" })
        }
        #expect(await until { gone == nil && binding == nil })
        let other = controller.bind(document, \.title, to: .title)
        defaults[.title] = "b"
        #expect(await until { document.title == "b" })
        other.commit()
    }

    @Test("A binding belongs to the actor that created it")
    func otherActor() async {
        let player = Player()
        let title = await player.bind(controller)
        #expect(title == "Untitled")
        await player.rename("a")
        #expect(defaults[.title] == "a")
    }
}
