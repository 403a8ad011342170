// swift-tools-version: 6.2
import PackageDescription

// A package that is developed on macOS and deployed on Linux, as a user of DefaultsKit would write it. On Linux, it
// tests the layer that DefaultsKit is on Apple's systems. It is a package of its own, since most of the targets in ours
// compile neither with this trait nor on Apple's systems.
let package = Package(
    name: "OverFoundation",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "defaultsd", path: "../..", traits: ["OverFoundation"])],
    targets: [
        // The sources of ours that use only what both have.
        .executableTarget(name: "ClassicUse", dependencies: [.product(name: "DefaultsKit", package: "defaultsd")]),
        .executableTarget(name: "ReadmeExample", dependencies: [.product(name: "DefaultsKit", package: "defaultsd")]),
        .testTarget(
            name: "OverFoundationTests", dependencies: [.product(name: "DefaultsKit", package: "defaultsd")],
            swiftSettings: [
                .enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("MemberImportVisibility"),
                .enableUpcomingFeature("NonisolatedNonsendingByDefault"), .treatAllWarnings(as: .error),
            ]),
    ]
)
