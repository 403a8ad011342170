import DefaultsClient
import DefaultsCore
import DefaultsKit
import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

@Suite("Search list")
struct SearchListTests {
    /// A layer, and the place to set a key in it before a process starts.
    struct Layer: Sendable, CustomTestStringConvertible {
        let name: String
        /// The file's path relative to the test's root, or `nil` for a layer without a file.
        var file: String?

        var testDescription: String { name }
        /// The value of the key in this layer.
        var value: PropertyListValue { .string(name) }
    }

    static let host = HostIdentifier.current()

    /// The layers, in reverse search order.
    static let layers: [Layer] = {
        var layers = [
            Layer(name: "registered"),
            Layer(name: "global, any user", file: "system/.GlobalPreferences.plist"),
            Layer(name: "application, any user", file: "system/org.example.app.plist"),
        ]
        for (name, file) in [
            ("global", ".GlobalPreferences"), ("first suite", "org.example.first"),
            ("last suite", "org.example.last"), ("application", "org.example.app"),
        ] {
            layers.append(Layer(name: name, file: "user/\(file).plist"))
            if let host { layers.append(Layer(name: "\(name), this host", file: "user/ByHost/\(file).\(host).plist")) }
        }
        layers.append(Layer(name: "argument"))
        // Only root can create managed files that are accepted.
        if geteuid() == 0 {
            layers.append(Layer(name: "global, managed", file: "managed/.GlobalPreferences.plist"))
            layers.append(Layer(name: "application, managed", file: "managed/org.example.app.plist"))
        }
        return layers
    }()

    private func open(
        _ place: ScratchPlace, _ layers: ArraySlice<Layer>
    ) throws -> (client: Client, defaults: UserDefaults) {
        let hasArgument = layers.contains { $0.name == "argument" }
        let client = try place.client(arguments: hasArgument ? ["-key", "argument"] : [])
        let defaults = try #require(UserDefaults(suiteName: "org.example.app", in: client))
        defaults.register(defaults: ["key": "registered"])
        defaults.addSuite(named: "org.example.first")
        defaults.addSuite(named: "org.example.last")
        return (client, defaults)
    }

    @Test("A key is found in the first layer that has it", arguments: layers.indices)
    func order(index: Int) throws {
        try ScratchPlace.with { place in
            let present = Self.layers[...index]
            for layer in present {
                if let file = layer.file { try place.write(["key": layer.value], to: "\(place.root)/\(file)") }
            }
            let (client, defaults) = try open(place, present)
            defer { client.close() }
            let winner = Self.layers[index]
            #expect(defaults.string(forKey: "key") == winner.name)
            #expect(defaults.dictionaryRepresentation()["key"] as? String == winner.name)
            let held = defaults.layers(holding: "key").map(\.value)
            #expect(held == present.reversed().map(\.value))
            #expect(defaults.objectIsForced(forKey: "key") == winner.name.hasSuffix("managed"))
            for (layer, explained) in zip(present.reversed(), defaults.layers(holding: "key")) {
                guard case .persistent(_, let path) = explained.kind else {
                    #expect(layer.file == nil)
                    continue
                }
                #expect(path == layer.file.map { "\(place.root)/\($0)" })
            }
        }
    }

    @Test("Setting a key changes only the application's domain for any host", arguments: layers.indices)
    func writing(index: Int) throws {
        try ScratchPlace.with { place in
            let present = Self.layers[...index]
            var before: [String: DomainValues] = [:]
            for layer in present {
                guard let file = layer.file else { continue }
                try place.write(["key": layer.value], to: "\(place.root)/\(file)")
                before[file] = ["key": layer.value]
            }
            let (client, defaults) = try open(place, present)
            defer { client.close() }
            defaults.set("set", forKey: "key")
            #expect(defaults.synchronize())
            before["user/org.example.app.plist"] = ["key": "set"]
            for (file, values) in before {
                let found = try place.read("\(place.root)/\(file)")
                #expect(found == values, "\(file)")
            }
            let own = Self.layers.firstIndex { $0.name == "application" } ?? 0
            #expect(defaults.string(forKey: "key") == (index > own ? Self.layers[index].name : "set"))
            defaults.removeObject(forKey: "key")
            #expect(defaults.synchronize())
            let next = index == own ? Self.layers[own - 1] : Self.layers[index]
            #expect(defaults.string(forKey: "key") == next.name)
        }
    }

    @Test("The dictionary representation contains every key with its effective value")
    func representation() throws {
        try ScratchPlace.with { place in
            for (index, layer) in Self.layers.enumerated() {
                guard let file = layer.file else { continue }
                // Each layer has its own key, a key shared by all layers, and a key shared with one neighbor.
                try place.write(
                    ["all": layer.value, "only \(index)": layer.value, "pair \(index / 2)": layer.value],
                    to: "\(place.root)/\(file)")
            }
            let (client, defaults) = try open(place, Self.layers[...])
            defer { client.close() }
            let representation = defaults.dictionaryRepresentation()
            #expect(representation.count > Self.layers.count)
            for key in representation.keys {
                #expect(representation[key] as? String == defaults.string(forKey: key))
                #expect(defaults.layers(holding: key).first?.value == defaults.propertyListValue(forKey: key))
            }
        }
    }

    @Test("A change by another program is seen in every layer", arguments: layers.filter { $0.file != nil })
    func live(layer: Layer) throws {
        try ScratchPlace.with { place in
            let (client, defaults) = try open(place, [])
            defer { client.close() }
            #expect(defaults.string(forKey: "key") == "registered")
            let path = "\(place.root)/\(layer.file ?? "")"
            try place.write(["key": layer.value], to: path)
            #expect(defaults.synchronize())
            #expect(defaults.string(forKey: "key") == layer.name)
            unlink(path)
            #expect(defaults.synchronize())
            #expect(defaults.string(forKey: "key") == "registered")
        }
    }

    @Test("The suite that was added last comes first, even if it was already there")
    func suites() throws {
        try ScratchPlace.with { place in
            try place.write(["key": 1], to: "\(place.preferences)/a.plist")
            try place.write(["key": 2], to: "\(place.preferences)/b.plist")
            let client = try place.client()
            defer { client.close() }
            let defaults = try #require(UserDefaults(suiteName: "app", in: client))
            for (change, expected) in [
                ({ defaults.addSuite(named: "a") }, 1), ({ defaults.addSuite(named: "b") }, 2),
                ({ defaults.addSuite(named: "a") }, 1), ({ defaults.removeSuite(named: "a") }, 2),
                ({ defaults.removeSuite(named: "never added") }, 2), ({ defaults.removeSuite(named: "b") }, 0),
            ] as [(() -> Void, Int)] {
                change()
                #expect(defaults.integer(forKey: "key") == expected)
            }
            defaults.addSuite(named: "a")
            let other = try #require(UserDefaults(suiteName: "app", in: client))
            #expect(other.object(forKey: "key") == nil)
        }
    }

    @Test("The application and the global domain can be added as suites without being searched twice")
    func sameNames() throws {
        let defaults = UserDefaults(inMemory: ["key": "own"])
        defaults.addSuite(named: UserDefaults.applicationIdentifier)
        defaults.addSuite(named: UserDefaults.globalDomain)
        #expect(defaults.string(forKey: "key") == "own")
        #expect(defaults.layers(holding: "key").count == 1)
    }
}
