// swift-tools-version:6.0
import PackageDescription

let package = Package(
    name: "AgentKernel",
    platforms: [.macOS(.v13), .iOS(.v16)],
    products: [.library(name: "AgentKernel", targets: ["AgentKernel"])],
    targets: [
        .target(name: "AgentKernel"),
        .executableTarget(name: "Conformance", dependencies: ["AgentKernel"]),
        .executableTarget(name: "Measure", dependencies: ["AgentKernel"]),
        .executableTarget(name: "First", dependencies: ["AgentKernel"], path: "Examples/First"),
        .testTarget(name: "AgentKernelTests", dependencies: ["AgentKernel"]),
    ]
)
