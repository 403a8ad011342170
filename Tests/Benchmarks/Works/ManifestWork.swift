import DefaultsClient
import DefaultsCore
import Foundation
import Manifests
import PropertyList

/// Editing and checking a domain with a manifest of 500 keys.
struct ManifestWork {
    private let place: BenchEnvironment
    private static let keys = 500

    init(_ place: BenchEnvironment) { self.place = place }

    func works(isQuick: Bool) throws -> [Work] {
        let rounds = isQuick ? 5 : 30
        let described = try DomainName("\(BenchEnvironment.domain).described")
        let other = try DomainName("\(BenchEnvironment.domain).other")
        let value = Self.manifest
        try place.addManifest(value.write(as: .xml), of: described.description)
        try place.restartAgent()
        let agent = try AgentChild.connect(place.environment)
        let values = DomainValues(uniqueKeysWithValues: (0..<Self.keys).map { ("key\($0)", .integer(1)) })
        for name in [described, other] {
            try agent.edit(Domain(name), with: values.mapValues { $0 }, replacesAll: true)
        }
        func edits(of name: DomainName) -> () throws -> [Double] {
            {
                try Stopwatch.each(of: 200) {
                    try agent.edit(Domain(name), with: ["key7": .integer(Int64($0 % 20))], replacesAll: false)
                }
            }
        }
        guard let manifest = Manifest.read(value, keepsTexts: false).manifest else {
            throw BenchFailure("The manifest can't be read.")
        }
        return [
            Work(
                name: "edit one of \(Self.keys) keys with a manifest", unit: .microseconds, rounds: rounds,
                contenders: [
                    .ours { edits(of: described) }, .limit("without a manifest", goal: 1.5) { edits(of: other) },
                ]),
            Work(
                name: "check one of \(Self.keys) keys by its manifest", unit: .microseconds, rounds: rounds,
                contenders: [
                    .ours {
                        {
                            Stopwatch.each(of: 2_000) { _ in
                                Sink.take(manifest.violations(of: ["key7"], in: values).count)
                            }
                        }
                    }
                ]),
        ]
    }

    /// A manifest with ranges, lists and conditions.
    private static var manifest: PropertyListValue {
        .dictionary([
            "pfm_subkeys": .array(
                (0..<keys).map { number in
                    let range: DomainValues = ["pfm_range_min": 0, "pfm_range_max": 1_000]
                    let list: DomainValues = ["pfm_range_list": .array((0..<20).map { .integer($0) })]
                    let condition: DomainValues = [
                        "pfm_exclude": [
                            ["pfm_target_conditions": [["pfm_target": "key1", "pfm_range_list": [.integer(0)]]]]
                        ]
                    ]
                    let about: DomainValues = ["pfm_name": .string("key\(number)"), "pfm_type": "integer"]
                    return .dictionary(about.merging([range, list, condition][number % 3]) { $1 })
                })
        ])
    }
}
