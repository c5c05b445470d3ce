import { camel, generated, withChoices } from "./model.mjs";

export const swift = {
  "sdk/swift/Sources/AgentKernel/ErrorCode.swift": errorCodes,
  "sdk/swift/Sources/AgentKernel/Records.swift": records,
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

function records({ options, results }) {
  return `// ${generated}

${[...options.map(optionRecord), ...results.map(resultRecord)].join("\n")}`;
}

function optionRecord({ name, about, fields }) {
  const lines = fields.map(
    ({ wire, about: help, type }) =>
      `    /// ${withChoices(help, type)}\n    public var ${camel(wire)}: ${typeText(type)}?\n`,
  );
  const stdin = fields.some(({ type }) => type.kind === "stdin")
    ? '        case stdinEncoding = "stdin_encoding"\n'
    : "";
  const encode = fields
    .map(({ wire, type }) =>
      type.kind === "stdin"
        ? `        try ${camel(wire)}?.encode(to: &container, text: .stdin, encoding: .stdinEncoding)\n`
        : `        try container.encodeIfPresent(${camel(wire)}, forKey: .${camel(wire)})\n`,
    )
    .join("");
  return `${heading(about)}public struct ${name}: Sendable, Encodable {
${lines.join("")}
    public init() {}

    enum CodingKeys: String, CodingKey {
${fields.map(({ wire }) => `        case ${camel(wire)} = "${wire}"\n`).join("")}${stdin}    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
${encode}    }
}
`;
}

function resultRecord({ name, about, fields }) {
  const lines = fields.map(
    ({ wire, about: help, type, isNullable }) =>
      `    /// ${withChoices(help, type)}\n    public let ${camel(wire)}: ${typeText(type)}${isNullable ? "?" : ""}\n`,
  );
  return `${heading(about)}public struct ${name}: Sendable, Codable {
${lines.join("")}
    enum CodingKeys: String, CodingKey {
${fields.map(({ wire }) => `        case ${camel(wire)} = "${wire}"\n`).join("")}    }
}
`;
}

function heading(about) {
  return about === null ? "" : `/// ${about}\n`;
}

function typeText(type) {
  switch (type.kind) {
    case "text":
    case "choice":
      return "String";
    case "whole":
      return "Int";
    case "number":
      return "Double";
    case "flag":
      return "Bool";
    case "network":
      return "Network";
    case "stdin":
      return "Input";
    case "record":
      return type.name;
    case "list":
      return `[${typeText(type.of)}]`;
    case "map":
      return `[String: ${typeText(type.of)}]`;
    default:
      throw new Error(type.kind);
  }
}
