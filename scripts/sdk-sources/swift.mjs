import { camel, generated } from "./model.mjs";
import { choiceEnums, choiceName } from "./swift-choices.mjs";

export const swift = {
  "sdk/swift/Sources/AgentKernel/ErrorCode.swift": errorCodes,
  "sdk/swift/Sources/AgentKernel/Choices.swift": ({ options, results }) =>
    `// ${generated}\n\n${choiceEnums([...options, ...results])}`,
  "sdk/swift/Sources/AgentKernel/Options.swift": ({ options }) =>
    `// ${generated}\n\n${options.map(optionRecord).join("\n")}`,
  "sdk/swift/Sources/AgentKernel/Records.swift": ({ results }) =>
    `// ${generated}\n\n${results.map(resultRecord).join("\n")}`,
};

/** Of records that the API's description says nothing about. */
const abouts = {
  RunOptions: "How a command is run in a sandbox of its own.",
  ExecOptions: "How a command is run in a sandbox that stays.",
  CreateOptions: "What a new sandbox is.",
  CopyOptions: "How a copy of a sandbox begins.",
  SecretOptions: "A secret that one host gets and the sandbox never sees.",
  MountOptions: "A file or directory of the host that a sandbox sees.",
  PublishOptions: "A port of the host that leads to one inside.",
  PublishedPort: "A port of the host that leads to one inside.",
  ImageUsed: "Where the root filesystem came from.",
  Usage: "What a command used.",
  RunResult: "How a command in a sandbox of its own ended.",
  ExecResult: "How a command in a sandbox that stays ended.",
  DetachedExec: "A command that runs on.",
  ExecLog: "Output and end of a detached command.",
  SandboxInfo: "A sandbox that stays.",
  Snapshot: "What was kept of a sandbox.",
  Stats: "What a sandbox uses now.",
  Change: "One change of a project.",
  Diff: "What a sandbox changed in the project.",
  FileEntry: "One file of a folder.",
  FolderListing: "What is in a folder.",
  Written: "What was written.",
  Health: "Whether the server takes requests.",
  Version: "Which version the server is.",
};

function errorCodes({ errors }) {
  const retryable = errors.filter((error) => error.retryable).map(({ code }) => `.${camel(code)}`);
  return `// ${generated}

/// Every code that an error of the server can have. A code that this version does not know has no case here; the
/// error's \`rawCode\` has it.
public enum ErrorCode: String, Sendable, CaseIterable {
${errors.map(({ code, summary }) => `    /// ${summary}\n    case ${caseName(code)} = "${code}"\n`).join("")}
    /// Whether the same call may work later.
    public var isRetryable: Bool {
        switch self {
        case ${retryable.join(",\n            ")}:
            return true
        default:
            return false
        }
    }
}
`;
}

/** Words of the language need quotes where they are names. */
function caseName(code) {
  return code === "internal" ? "`internal`" : camel(code);
}

/** Options are Decodable as well, so that a file can hold them. */
function optionRecord({ name, about, fields }) {
  const own = fields.map((field) => ({ ...field, ...optionShape(field, name) }));
  const lines = own.map(({ about: help, property, type }) => `    /// ${help}\n    public var ${property}: ${type}?\n`);
  const hasStdin = fields.some(({ type }) => type.kind === "stdin");
  const keys = own.map(({ property, wire }) => `        case ${property} = "${wire}"\n`).join("");
  return `${heading(name, about)}public struct ${name}: Sendable, Codable {
${lines.join("")}
    /// What is left out is as the server has it.
    public init(
${own.map(({ property, type }) => `        ${property}: ${type}? = nil`).join(",\n")}
    ) {
${own.map(({ property }) => `        self.${property} = ${property}\n`).join("")}    }

    enum CodingKeys: String, CodingKey {
${keys}${hasStdin ? '        case stdinEncoding = "stdin_encoding"\n' : ""}    }

    /// Reads it as the API writes it.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
${own.map(({ decode }) => `        ${decode}\n`).join("")}    }

    /// Writes it as the API reads it.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
${own.map(({ encode }) => `        try ${encode}\n`).join("")}    }
}
`;
}

function optionShape({ wire, type }, record) {
  const property = camel(wire);
  if (type.kind === "stdin") {
    return {
      property,
      type: "Input",
      encode: `${property}?.encode(to: &container, text: .stdin, encoding: .stdinEncoding)`,
      decode: `${property} = try Input(from: container, text: .stdin, encoding: .stdinEncoding)`,
    };
  }
  if (wire.endsWith("_ms")) {
    const own = camel(wire.slice(0, -"_ms".length));
    return {
      property: own,
      type: "Duration",
      encode: `container.encodeIfPresent(${own}.map { Int($0.inMilliseconds.rounded()) }, forKey: .${own})`,
      decode: `${own} = try container.decodeIfPresent(Double.self, forKey: .${own}).map { .milliseconds($0) }`,
    };
  }
  const swiftType = typeText(type, record, wire);
  return {
    property,
    type: swiftType,
    encode: `container.encodeIfPresent(${property}, forKey: .${property})`,
    decode: `${property} = try container.decodeIfPresent(${swiftType}.self, forKey: .${property})`,
  };
}

function resultRecord({ name, about, fields }) {
  const lines = fields.map(
    ({ wire, about: help, type, isNullable }) =>
      `    /// ${help}\n    public let ${camel(wire)}: ${typeText(type, name, wire)}${isNullable ? "?" : ""}\n`,
  );
  const durations = fields
    .filter(({ wire, type }) => wire.endsWith("_ms") && ["whole", "number"].includes(type.kind))
    .map(({ wire, about: help, isNullable }) => {
      const property = camel(wire);
      const value = isNullable ? `${property}.map { .milliseconds($0) }` : `.milliseconds(${property})`;
      const signature = `public var ${camel(wire.slice(0, -"_ms".length))}: Duration${isNullable ? "?" : ""}`;
      return `    /// ${help}\n    ${signature} { ${value} }\n`;
    });
  return `${heading(name, about)}public struct ${name}: Sendable, Codable {
${lines.join("")}${durations.map((text) => `\n${text}`).join("")}
    enum CodingKeys: String, CodingKey {
${fields.map(({ wire }) => `        case ${camel(wire)} = "${wire}"\n`).join("")}    }
}
`;
}

function heading(name, about) {
  const text = about ?? abouts[name];
  if (text === undefined) throw new Error(`${name} has no description: add it to scripts/sdk-sources/swift.mjs`);
  return `/// ${text}\n`;
}

function typeText(type, record, wire) {
  switch (type.kind) {
    case "text":
      return "String";
    case "choice":
      return choiceName(record, wire);
    case "whole":
      return "Int";
    case "number":
      return "Double";
    case "flag":
      return "Bool";
    case "network":
      return "Network";
    case "record":
      return type.name;
    case "list":
      return `[${typeText(type.of, record, wire)}]`;
    case "map":
      return `[String: ${typeText(type.of, record, wire)}]`;
    default:
      throw new Error(type.kind);
  }
}
