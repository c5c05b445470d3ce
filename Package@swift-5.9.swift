// swift-tools-version:5.9
// For programs that take the SDK from this repository: Swift's package manager reads no manifest but that of the root.
// The SDK's own, with its tests and its conformance runner, is sdk/swift/Package.swift.
import PackageDescription

let package = Package(
    name: "AgentKernel",
    platforms: [.macOS(.v13), .iOS(.v16)],
    products: [.library(name: "AgentKernel", targets: ["AgentKernel"])],
    targets: [.target(name: "AgentKernel", path: "sdk/swift/Sources/AgentKernel")]
)
