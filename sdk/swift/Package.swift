// swift-tools-version:5.9
import PackageDescription

let package = Package(
    name: "AgentKernel",
    platforms: [.macOS(.v12), .iOS(.v15)],
    products: [.library(name: "AgentKernel", targets: ["AgentKernel"])],
    targets: [
        .target(name: "AgentKernel"),
        .executableTarget(name: "Conformance", dependencies: ["AgentKernel"]),
        .executableTarget(name: "First", dependencies: ["AgentKernel"], path: "Examples/First"),
    ]
)
