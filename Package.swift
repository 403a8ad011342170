// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .treatAllWarnings(as: .error),
]

// Apple's systems have user defaults of their own, and DefaultsKit is only a layer over Foundation's class there. The
// trait `OverFoundation` compiles that layer on Linux, for its tests; not for the documentation, whose plugin extracts
// the symbols with all traits.
let isDocumented = Context.environment["DEFAULTSD_DOCUMENTATION"] != nil
let overFoundation: [SwiftSetting] =
    [
        .define(
            "OVER_FOUNDATION", .when(platforms: [.macOS, .macCatalyst, .iOS, .tvOS, .watchOS, .visionOS, .driverKit]))
    ] + (isDocumented ? [] : [.define("OVER_FOUNDATION", .when(traits: ["OverFoundation"]))])
let linux = TargetDependencyCondition.when(platforms: [.linux])

let programs = TargetDependencyCondition.when(traits: ["Programs"])
let viewer = TargetDependencyCondition.when(traits: ["Viewer"])
let fleet = TargetDependencyCondition.when(traits: ["Fleet"])
let fleetEtcd = TargetDependencyCondition.when(traits: ["FleetEtcd"])

let package = Package(
    name: "defaultsd",
    // For DefaultsKit and PropertyList only; all other modules need Linux.
    platforms: [.macOS(.v15), .macCatalyst(.v18), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "DefaultsBindings", targets: ["DefaultsBindings"]),
        .library(name: "DefaultsConfiguration", targets: ["DefaultsConfiguration"]),
        .library(name: "DefaultsKit", targets: ["DefaultsKit"]),
        .library(name: "DefaultsFoundation", targets: ["DefaultsFoundation"]),
        .library(name: "PropertyList", targets: ["PropertyList"]),
        .executable(name: "defaultsd", targets: ["defaultsd"]),
        .executable(name: "defaults", targets: ["defaults"]),
        .executable(name: "defaults-portal", targets: ["defaults-portal"]),
        .executable(name: "defaults-viewer", targets: ["defaults-viewer"]),
        .executable(name: "defaults-fleet", targets: ["defaults-fleet"]),
        .plugin(name: "MakeDefaultsKeys", targets: ["MakeDefaultsKeys"]),
    ],
    // A dependency is fetched only if a trait that uses it is enabled, so an app that depends on this package with
    // `traits: []` fetches nothing else.
    traits: [
        .trait(name: "Programs", description: "Builds the programs defaultsd and defaults, and the tests."),
        .trait(name: "Configuration", description: "Adds the swift-configuration provider to DefaultsConfiguration."),
        .trait(
            name: "RawInotify", description: "Uses the kernel's inotify interface instead of libinotifytools."),
        .trait(name: "Portal", description: "Builds the program defaults-portal, with libsystemd."),
        .trait(name: "Viewer", description: "Builds the program defaults-viewer."),
        .trait(name: "Fleet", description: "Builds the program defaults-fleet, with swift-crypto."),
        .trait(
            name: "FleetEtcd", description: "Adds fleets on etcd to the program defaults-fleet, with grpc-swift.",
            enabledTraits: ["Fleet"]),
        .trait(
            name: "OverFoundation",
            description: "Makes DefaultsKit a layer over Foundation's class, as it is on Apple's systems."),
        .default(enabledTraits: ["Programs"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        // None of its own traits are needed.
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: []),
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.4"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.21.1"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-protobuf", from: "1.39.0"),
        .package(url: "https://github.com/grpc/grpc-swift-2", from: "2.4.3"),
        .package(url: "https://github.com/grpc/grpc-swift-nio-transport", from: "2.9.2"),
        .package(url: "https://github.com/grpc/grpc-swift-protobuf", from: "2.4.1"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    // The layers, lowest first. A target may import only what it lists here: `.ci/run` builds with
    // `--explicit-target-dependency-import-check error`.
    targets: [
        // Layer 0: the system and the property-list codec.
        .systemLibrary(name: "CInotifyTools", providers: [.apt(["libinotifytools0-dev"])]),
        .target(name: "CFork"),
        .target(name: "CLinux"),
        .target(name: "CProcCheck"),
        .target(name: "Linux", dependencies: ["CFork", "CLinux"], swiftSettings: settings),
        .target(name: "PropertyList", swiftSettings: settings),
        // Descriptions of preferences, and checks of values.
        .target(name: "Manifests", dependencies: ["PropertyList"], swiftSettings: settings),

        // The build plugin that makes typed keys from manifests, and its tool.
        .executableTarget(
            name: "make-defaults-keys", dependencies: ["Manifests", "PropertyList"], swiftSettings: settings),
        .plugin(
            name: "MakeDefaultsKeys", capability: .buildTool(), dependencies: ["make-defaults-keys"],
            path: "Sources/MakeDefaultsKeys"),

        // Layer 1: watching a directory, and the engine.
        .target(name: "DirectoryWatcher", dependencies: ["CInotifyTools", "CLinux", "Linux"], swiftSettings: settings),
        .target(
            name: "DefaultsCore", dependencies: ["CFork", "CLinux", "Linux", "Manifests", "PropertyList"],
            swiftSettings: settings),

        // Layer 2: the one client of the agent, with the store that a process uses where no agent runs.
        .target(
            name: "DefaultsClient", dependencies: ["CFork", "CLinux", "DefaultsCore", "Linux", "PropertyList"],
            swiftSettings: settings),

        // Layer 3: the library for apps.
        .target(
            name: "DefaultsKit",
            dependencies: [
                .byName(name: "DefaultsClient", condition: linux), .byName(name: "DefaultsCore", condition: linux),
                .byName(name: "Linux", condition: linux), .byName(name: "Manifests", condition: linux), "PropertyList",
            ],
            swiftSettings: settings + overFoundation),

        // Layer 4: preferences windows, the additions that need all of Foundation, the swift-configuration provider
        // (empty without its trait), the agent and the command.
        .target(
            name: "DefaultsBindings",
            dependencies: ["DefaultsClient", "DefaultsCore", "DefaultsKit", "Linux", "PropertyList"],
            swiftSettings: settings),
        .target(
            name: "DefaultsFoundation", dependencies: ["DefaultsBindings", "DefaultsKit", "Linux", "PropertyList"],
            swiftSettings: settings),
        .target(
            name: "DefaultsConfiguration",
            dependencies: [
                "DefaultsKit", "Linux", "PropertyList",
                .product(
                    name: "Configuration", package: "swift-configuration", condition: .when(traits: ["Configuration"])),
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "defaultsd",
            dependencies: [
                "CLinux", "DefaultsCore", "DirectoryWatcher", "Linux", "Manifests", "PropertyList",
                .product(name: "ArgumentParser", package: "swift-argument-parser", condition: programs),
                .product(name: "Logging", package: "swift-log", condition: programs),
                .product(name: "NIOCore", package: "swift-nio", condition: programs),
                .product(name: "NIOPosix", package: "swift-nio", condition: programs),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: programs),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "DefaultsCommand",
            dependencies: [
                "CLinux", "CProcCheck", "DefaultsClient", "DefaultsCore", "Linux", "Manifests", "PropertyList",
                .product(name: "ArgumentParser", package: "swift-argument-parser", condition: programs),
            ],
            swiftSettings: settings
        ),
        .executableTarget(name: "defaults", dependencies: ["DefaultsCommand"], swiftSettings: settings),

        // The settings portal, on libsystemd's library for D-Bus; without its trait, it only says so.
        .target(
            name: "CSettingsBus", cSettings: [.define("PORTAL", .when(traits: ["Portal"]))],
            linkerSettings: [.linkedLibrary("systemd", .when(traits: ["Portal"]))]),
        .executableTarget(
            name: "defaults-portal",
            dependencies: [
                "CSettingsBus", "DefaultsClient", "DefaultsCore", "DefaultsKit", "Linux", "PropertyList",
                .product(name: "ArgumentParser", package: "swift-argument-parser", condition: programs),
            ],
            swiftSettings: settings
        ),

        // The viewer; without its trait, it only says so.
        .executableTarget(
            name: "defaults-viewer",
            dependencies: [
                "DefaultsCommand", "DefaultsCore", "Linux", "PropertyList",
                .product(name: "ArgumentParser", package: "swift-argument-parser", condition: programs),
                .product(name: "NIOCore", package: "swift-nio", condition: viewer),
                .product(name: "NIOHTTP1", package: "swift-nio", condition: viewer),
                .product(name: "NIOPosix", package: "swift-nio", condition: viewer),
            ],
            resources: [.embedInCode("Page")],
            swiftSettings: settings
        ),

        // The edits of a fleet of machines, and the connector; without its trait, it only says so.
        .target(name: "Fleet", dependencies: ["DefaultsCore", "Linux", "PropertyList"], swiftSettings: settings),
        .target(
            name: "FleetCommand",
            dependencies: [
                "DefaultsClient", "DefaultsCommand", "DefaultsCore", "DirectoryWatcher", "Fleet", "Linux", "Manifests",
                "PropertyList",
                .product(name: "ArgumentParser", package: "swift-argument-parser", condition: programs),
                .product(name: "Crypto", package: "swift-crypto", condition: fleet),
            ],
            swiftSettings: settings
        ),
        // Fleets on etcd, with grpc-swift, which brings a part of Foundation that changes the meaning of `stat`; empty
        // without its trait.
        .target(
            name: "FleetEtcd",
            dependencies: [
                "Fleet", "FleetCommand", "Linux",
                .product(name: "Crypto", package: "swift-crypto", condition: fleetEtcd),
                .product(name: "GRPCCore", package: "grpc-swift-2", condition: fleetEtcd),
                .product(
                    name: "GRPCNIOTransportHTTP2Posix", package: "grpc-swift-nio-transport", condition: fleetEtcd),
                .product(name: "GRPCProtobuf", package: "grpc-swift-protobuf", condition: fleetEtcd),
                .product(name: "NIOCore", package: "swift-nio", condition: fleetEtcd),
                .product(name: "SwiftASN1", package: "swift-asn1", condition: fleetEtcd),
                .product(name: "SwiftProtobuf", package: "swift-protobuf", condition: fleetEtcd),
                .product(name: "X509", package: "swift-certificates", condition: fleetEtcd),
            ],
            exclude: ["etcd.proto"],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "defaults-fleet", dependencies: ["FleetCommand", "FleetEtcd", "Linux"], swiftSettings: settings),

        // Measurements that take too long or need too quiet a machine for the tests, and the peers to compare with.
        // The benchmark runs the agent and the command, so they are built with it.
        .target(name: "CPeers", path: "Tests/CPeers"),
        .executableTarget(
            name: "defaults-bench",
            dependencies: [
                "CPeers", "DefaultsClient", "DefaultsCore", "DefaultsFoundation", "DefaultsKit", "Linux", "Manifests",
                "ProgramSupport", "PropertyList", "TestSupport", "defaults", "defaultsd",
                .product(name: "ArgumentParser", package: "swift-argument-parser", condition: programs),
            ],
            path: "Tests/Benchmarks",
            swiftSettings: settings
        ),

        // The exploration of every step, failure and crash of the programs; `.ci/explore` runs it.
        .target(name: "CExplorer", path: "Tests/CExplorer"),
        .executableTarget(
            name: "defaults-explore",
            dependencies: [
                "CExplorer", "CLinux", "DefaultsClient", "DefaultsCore", "Linux", "ProgramSupport", "PropertyList",
                "TestSupport",
                "defaults", "defaultsd",
                .product(name: "ArgumentParser", package: "swift-argument-parser", condition: programs),
            ],
            path: "Tests/Explorer",
            exclude: ["Intervention"],
            swiftSettings: settings
        ),

        // The tests: the programs and libraries that they use, a test target for each library, and then AgentTests,
        // FuzzTests and CocoaTopicsTests. AgentTests runs the real programs. FoundationWriter uses Foundation's
        // UserDefaults.
        .executableTarget(name: "FoundationWriter", path: "Tests/FoundationWriter", swiftSettings: settings),
        // The same source, compiled against Foundation's UserDefaults and against ours, with a user's build settings.
        .executableTarget(name: "ClassicUseOfFoundation", path: "Tests/ClassicUse/Foundation"),
        .executableTarget(name: "ClassicUse", dependencies: ["DefaultsKit"], path: "Tests/ClassicUse/DefaultsKit"),
        .executableTarget(
            name: "ReadmeExample", dependencies: ["DefaultsKit"], path: "Tests/ReadmeExample",
            swiftSettings: settings),
        // An app with keys that the build plugin makes from its manifest.
        .executableTarget(
            name: "DescribedApp", dependencies: ["DefaultsKit"], path: "Tests/DescribedApp", swiftSettings: settings,
            plugins: ["MakeDefaultsKeys"]),
        .executableTarget(
            name: "LiveWriter", dependencies: ["DefaultsKit"], path: "Tests/LiveWriter", swiftSettings: settings),
        .target(name: "CForks", path: "Tests/CForks"),
        .executableTarget(
            name: "Forker", dependencies: ["CForks", "DefaultsKit"], path: "Tests/Forker", swiftSettings: settings),
        .executableTarget(
            name: "Leaver", dependencies: ["DefaultsKit"], path: "Tests/Leaver", swiftSettings: settings),
        .executableTarget(
            name: "FoundationApp", dependencies: ["DefaultsFoundation", "DefaultsKit", "PropertyList"],
            path: "Tests/FoundationApp", swiftSettings: settings),
        .executableTarget(
            name: "PreferencesWindow",
            dependencies: ["DefaultsBindings", "DefaultsFoundation", "DefaultsKit", "PropertyList"],
            path: "Tests/PreferencesWindow", swiftSettings: settings),
        .target(
            name: "TestSupport", dependencies: ["CLinux", "Linux"], path: "Tests/TestSupport", swiftSettings: settings),
        .target(
            name: "ProgramSupport",
            dependencies: ["DefaultsClient", "DefaultsCore", "DefaultsKit", "Linux", "PropertyList", "TestSupport"],
            path: "Tests/ProgramSupport", swiftSettings: settings),
        .testTarget(name: "PropertyListTests", dependencies: ["PropertyList", "TestSupport"], swiftSettings: settings),
        .testTarget(name: "ManifestsTests", dependencies: ["Manifests", "PropertyList"], swiftSettings: settings),
        .testTarget(
            name: "FleetTests", dependencies: ["DefaultsCore", "Fleet", "PropertyList", "TestSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "FleetEtcdTests",
            dependencies: [
                "Fleet", "FleetCommand", "FleetEtcd",
                .product(name: "GRPCCore", package: "grpc-swift-2", condition: fleetEtcd),
                .product(name: "SwiftASN1", package: "swift-asn1", condition: fleetEtcd),
                .product(name: "SwiftProtobuf", package: "swift-protobuf", condition: fleetEtcd),
                .product(name: "X509", package: "swift-certificates", condition: fleetEtcd),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "DirectoryWatcherTests", dependencies: ["DirectoryWatcher", "TestSupport"], swiftSettings: settings),
        .testTarget(
            name: "DefaultsCoreTests",
            dependencies: ["CLinux", "DefaultsCore", "Linux", "PropertyList", "TestSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "DefaultsClientTests",
            dependencies: ["DefaultsClient", "DefaultsCore", "Linux", "ProgramSupport", "PropertyList", "TestSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "DefaultsBindingsTests",
            dependencies: [
                "DefaultsBindings", "DefaultsClient", "DefaultsCore", "DefaultsKit", "Linux", "PropertyList",
                "TestSupport",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "DefaultsKitTests",
            dependencies: [
                "DefaultsBindings", "DefaultsClient", "DefaultsCore", "DefaultsKit", "Linux", "ProgramSupport",
                "PropertyList",
                "TestSupport",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "DefaultsFoundationTests",
            dependencies: [
                "DefaultsBindings", "DefaultsClient", "DefaultsCore", "DefaultsFoundation", "DefaultsKit",
                "PropertyList",
                "TestSupport",
            ],
            exclude: ["Fixtures"],
            swiftSettings: settings),
        .testTarget(
            name: "DefaultsConfigurationTests",
            dependencies: [
                "DefaultsClient", "DefaultsConfiguration", "DefaultsCore", "DefaultsKit", "PropertyList", "TestSupport",
                .product(
                    name: "Configuration", package: "swift-configuration", condition: .when(traits: ["Configuration"])),
                .product(
                    name: "ConfigurationTesting", package: "swift-configuration",
                    condition: .when(traits: ["Configuration"])),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "AgentTests",
            dependencies: [
                "CLinux", "ClassicUse", "ClassicUseOfFoundation", "DefaultsClient", "DefaultsCommand", "DefaultsCore",
                "DefaultsKit", "DescribedApp", "DirectoryWatcher", "FoundationApp", "Forker", "FoundationWriter",
                "Leaver", "Linux",
                "LiveWriter", "PreferencesWindow", "ProgramSupport", "PropertyList", "ReadmeExample", "TestSupport",
                "defaults", "defaults-bench", "defaultsd",
                .product(name: "NIOCore", package: "swift-nio", condition: programs),
            ],
            exclude: ["Fixtures"],
            swiftSettings: settings),
        // The code under the fuzzers, and the replay of their findings; `.ci/fuzz` builds the executable as a fuzzer.
        .target(
            name: "FuzzTargets", dependencies: ["DefaultsCommand", "DefaultsCore", "PropertyList"],
            path: "Tests/FuzzTargets", swiftSettings: settings),
        .target(name: "CFuzzer", path: "Tests/CFuzzer"),
        .executableTarget(
            name: "Fuzzer", dependencies: ["CFuzzer", "FuzzTargets"], path: "Tests/Fuzzer", swiftSettings: settings),
        .testTarget(
            name: "FuzzTests", dependencies: ["FuzzTargets"], exclude: ["Corpora"], swiftSettings: settings),
        // Apple's documents on user defaults in Cocoa, chapter by chapter.
        .testTarget(
            name: "CocoaTopicsTests",
            dependencies: [
                "DefaultsClient", "DefaultsCore", "DefaultsFoundation", "DefaultsKit", "PreferencesWindow",
                "ProgramSupport",
                "PropertyList", "TestSupport", "defaults", "defaultsd",
            ],
            exclude: ["Topics.md"],
            resources: [.copy("Resources/FactoryDefaults.plist"), .copy("Resources/UserDefaults.plist")],
            swiftSettings: settings),
    ]
)

// Other traits compile all modules again, so `.ci/run` builds them with only the tests of what they change.
if let tests = Context.environment["DEFAULTSD_TESTS"]?.split(separator: ",") {
    package.targets.removeAll { $0.type == .test && !tests.contains(Substring($0.name)) }
}

// Only Config/documentation needs this plugin. It can't depend on a trait, because SwiftPM has conditions only for the
// products that targets use.
if isDocumented {
    package.dependencies.append(.package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0"))
}
