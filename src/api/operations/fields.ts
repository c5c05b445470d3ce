/** Fields that several bodies have. */
import { backendChoices } from "../../core/backend.js";
import type { EgressMode } from "../../core/policy.js";
import { ranges } from "../../policy/resources.js";
import { type NumericPath, type ResourceKey, resourceNumbers, type SettableNamed } from "../../settings/index.js";
import { keyHelp, type NumericDescription } from "../../settings/numeric-setting.js";
import { optionSettings as settings } from "../../settings/options.js";
import { dictionary, field, named, object, optional } from "../schema/object-shape.js";
import { choice, flag, list, number, oneOf, text, whole } from "../schema/shapes.js";

/** What a kernel takes as one argument, and no NUL, which ends one. */
const MAX_WORD_CHARS = 131_072;
// biome-ignore lint/suspicious/noControlCharactersInRegex: NUL is what is refused
const NO_NUL = /^[^\u0000]*$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: NUL is what is refused
const ABSOLUTE = /^\/[^\u0000]*$/;

export const word = text({ expected: "a text without NUL", pattern: NO_NUL, maxLength: MAX_WORD_CHARS });

export const command = list(word, { minItems: 1, maxItems: 4096 });

export const env = dictionary({ pattern: /^[A-Za-z_][A-Za-z0-9_]*$/, expected: "a name of a variable" }, word);

export const sandboxName = text({
  expected: "a name of lower-case letters, digits, dots, dashes and underscores",
  pattern: /^(?!.*\.\.)[a-z0-9][a-z0-9._-]{0,62}$/,
  maxLength: 63,
});

/** What a command of a sandbox is called by. */
export const execId = text({ expected: "the id of a command such as x1f0c2a9b", pattern: /^[a-z][0-9a-f]{8}$/ });

/** A path inside a sandbox. */
export const insidePath = text({
  expected: "an absolute path inside the sandbox",
  pattern: ABSOLUTE,
  maxLength: 4096,
});

export const duration = text({
  expected: "a time such as 30s, 10m, 8h or 7d",
  pattern: /^(\d{1,10}(\.\d{1,3})?(ms|s|m|h|d))+$/,
});

export const timeoutMs = whole(ranges["resources.timeoutMs"]);

export const encoding = choice(["utf8", "base64"]);

const networkRules = object({
  enabled: optional(flag(), "false: nothing is reached."),
  allowed_domains: optional(
    list(text({ expected: "a domain", minLength: 1, maxLength: 253 }), { maxItems: 1000 }),
    "Only these are reached; `*.example.com` stands for subdomains.",
    ["api.example.com"],
  ),
});

export type NetworkRequest = boolean | EgressMode | ReturnType<typeof networkRules.read>;

export const network = named(
  "Network",
  oneOf<NetworkRequest>("true, false, on, off, allowlist or an object", {
    "true or false": flag(),
    "a text": choice(settings["net.egress"].choices),
    "an object": networkRules,
  }),
  "What can be reached: true or `on` (every public address), false or `off` (nothing), `allowlist`, or the domains that can.",
);

function numberShape(path: NumericPath, { quantity }: NumericDescription) {
  return number(ranges[path], quantity.whole);
}

/** One entry for each numeric setting in `resources`. */
export function byResourceKey<T>(make: (number: SettableNamed) => T): Readonly<Record<ResourceKey, T>> {
  return Object.fromEntries(resourceNumbers.map((one) => [one.setting.key, make(one)])) as Record<ResourceKey, T>;
}

export const resources = named(
  "Resources",
  object(byResourceKey(({ path, setting }) => optional(numberShape(path, setting), keyHelp(setting)))),
  "Limits of a sandbox.",
);

const image = text({ expected: "an image such as python:3.12-alpine", minLength: 1, maxLength: 1024 });

/** What isolates a sandbox. */
export const backendChoice = choice(backendChoices);

const secret = named(
  "SecretRequest",
  object({
    name: field(text({ expected: "a name of a variable", pattern: /^[A-Za-z_][A-Za-z0-9_]{0,127}$/ }), "The variable."),
    host: field(text({ expected: "a host name", minLength: 1, maxLength: 253 }), "The only host that gets it."),
    header: optional(text({ expected: "a header's name", minLength: 1, maxLength: 64 }), "In which (authorization)."),
  }),
);

const mount = named(
  "MountRequest",
  object({
    host: field(text({ expected: "an absolute path on the host", pattern: ABSOLUTE, maxLength: 4096 }), "Its source."),
    guest: field(insidePath, "Where it appears."),
    readonly: optional(flag(), "false: changes reach the host at once (true)."),
  }),
);

const portNumber = whole({ min: 1, max: 65_535 });

/** One port of the host that leads to one inside. */
const portFields = {
  address: optional(text({ expected: "an IP address", minLength: 2, maxLength: 45 }), "Of the host (127.0.0.1)."),
  host_port: optional(whole({ min: 0, max: 65_535 }), "0: any that is free (0)."),
  guest_port: field(portNumber, "The port inside."),
};

/** What only the user of the machine, or who acts as one, can ask for. */
export const publishField = optional(
  list(named("PublishRequest", object(portFields)), { maxItems: 64 }),
  settings.publish.jsonHelp,
);

/** What decides about a sandbox, whether it is kept or not. */
export const policyFields = {
  backend: optional(backendChoice, settings.backend.jsonHelp),
  image: optional(image, settings.image.jsonHelp, "host"),
  profile: optional(choice(settings.profile.choices), settings.profile.jsonHelp),
  compatibility_mode: optional(choice(settings.mode.choices), settings.mode.jsonHelp),
  network: optional(network, settings["net.egress"].jsonHelp),
  env: optional(env, settings["proc.env"].jsonHelp, { LANG: "C.UTF-8" }),
  user: optional(text({ expected: "a user", minLength: 1, maxLength: 128 }), settings["proc.user"].jsonHelp),
  resources: optional(resources, "Limits of the sandbox."),
  secrets: optional(list(secret, { maxItems: 64 }), settings["net.secrets"].jsonHelp),
  mounts: optional(list(mount, { maxItems: 64 }), settings["fs.mounts"].jsonHelp),
  dir: optional(
    text({ expected: "an absolute path on the host", pattern: ABSOLUTE, maxLength: 4096 }),
    settings.dir.jsonHelp,
  ),
  workspace: optional(choice(settings["fs.workspace.mode"].choices), settings["fs.workspace.mode"].jsonHelp),
};

/** What every command may be given. */
export const commandFields = {
  command: field(command, "The program and its arguments. No shell is put between.", ["echo", "hello"]),
  cwd: optional(insidePath, settings.workdir.jsonHelp),
  stdin: optional(text(), "What the command reads on its standard input."),
  stdin_encoding: optional(encoding, "How `stdin` is written (utf8)."),
  timeout_ms: optional(timeoutMs, "After so long the command is ended with all it started (30000)."),
  encoding: optional(encoding, "How output is written in the answer; base64 keeps every byte (utf8)."),
};
