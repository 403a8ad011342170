// swift-tools-version: 6.2
import PackageDescription

// An app as a user of the libraries would write it: a separate package that depends on this one, and fetches no other.
let package = Package(
    name: "LiveApp",
    dependencies: [.package(name: "defaultsd", path: "../..", traits: [])],
    targets: [
        .executableTarget(
            name: "LiveApp",
            dependencies: [
                .product(name: "DefaultsKit", package: "defaultsd"),
                .product(name: "DefaultsFoundation", package: "defaultsd"),
            ])
    ]
)
