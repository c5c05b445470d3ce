// Fields that take one of several words, as enumerations of Swift's. A word that this version does not know is kept as it
// came, so that a newer server's answer can be read.
import { camel } from "./model.mjs";

/** By the field's name, or by record and field where the name alone means several things. */
const names = {
  encoding: "OutputEncoding",
  backend: "Backend",
  lang: "WasmLanguage",
  profile: "Profile",
  compatibility_mode: "CompatibilityMode",
  workspace: "Workspace",
  mode: "NetworkMode",
  type: "FileType",
  change: "ChangeKind",
  status: "HealthStatus",
  "SandboxInfo.network": "NetworkMode",
  "SandboxInfo.state": "SandboxState",
  "Stats.state": "SandboxState",
  "Layer.state": "LayerState",
  "ExecLog.state": "ExecState",
};

const abouts = {
  OutputEncoding: "How output is written in an answer.",
  Backend: "What isolates a sandbox.",
  WasmLanguage: "The language of a program's text.",
  Profile: "How much a sandbox is allowed.",
  CompatibilityMode: "The agent whose defaults hold.",
  Workspace: "How a folder of the host is shown inside.",
  NetworkMode: "What a sandbox can reach.",
  FileType: "What lies at a path.",
  ChangeKind: "What happened to a file.",
  HealthStatus: "Whether the server takes requests.",
  SandboxState: "What a sandbox does now.",
  LayerState: "Whether a wall of a sandbox stands.",
  ExecState: "What became of a detached command.",
};

export function choiceName(record, wire) {
  const name = names[`${record}.${wire}`] ?? names[wire];
  if (name === undefined) throw new Error(`the choice ${record}.${wire} has no name in swift-choices.mjs`);
  return name;
}

export function choiceEnums(records) {
  const values = new Map();
  for (const { name: record, fields } of records) {
    for (const { wire, type } of fields) {
      const choice = type.kind === "list" || type.kind === "map" ? type.of : type;
      if (choice.kind !== "choice") continue;
      const name = choiceName(record, wire);
      values.set(name, new Set([...(values.get(name) ?? []), ...choice.values]));
    }
  }
  return [...values].map(([name, words]) => choiceEnum(name, [...words])).join("\n");
}

/** `none` would be read as the absence of an optional. */
const caseOf = (word) => (word === "none" ? "nothing" : camel(word));

function choiceEnum(name, words) {
  return `/// ${abouts[name]}
public enum ${name}: RawRepresentable, Sendable, Hashable, Codable, CaseIterable {
${words.map((word) => `    /// \`${word}\`\n    case ${caseOf(word)}\n`).join("")}    /// A word that this version does not know.
    case unknown(String)

    /// Those that this version knows.
    public static let allCases: [${name}] = [${words.map((word) => `.${caseOf(word)}`).join(", ")}]

    /// From the API's word.
    public init(rawValue: String) {
        switch rawValue {
${words.map((word) => `        case "${word}": self = .${caseOf(word)}\n`).join("")}        default: self = .unknown(rawValue)
        }
    }

    /// The API's word.
    public var rawValue: String {
        switch self {
${words.map((word) => `        case .${caseOf(word)}: return "${word}"\n`).join("")}        case .unknown(let word): return word
        }
    }
}
`;
}
