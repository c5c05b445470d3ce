/** Every key of agentkernel.toml and of the user-wide config.toml. */
import { backendNames } from "../core/backend.js";
import { compatibilityModes, profileNames, workspaceModes } from "../core/policy.js";
import { runtimeNames } from "../detect/runtimes.js";
import { parseDurationMs, ranges } from "../policy/resources.js";
import { domainOrPreset } from "./network-shapes.js";
import { numberEntries } from "./number-entries.js";
import { glob } from "./policy-shape.js";
import { choice, flag, list, number, parsedText, text, type ValueOf } from "./shapes.js";
import { dictionary, table } from "./table-shape.js";

const port = { min: 1, max: 65_535, whole: true };
const count = { min: 0, max: 1000, whole: true };
const sizeMb = { min: 1, max: ranges["resources.diskMiB"].max, whole: true };

const name = text({ expected: "a name of letters, digits, - and _", why: whyNotName });

function whyNotName(word: string): string | null {
  return /^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/.test(word) ? null : "it has other characters, is empty or too long";
}

const image = text({
  expected: "an image such as python:3.12-alpine",
  // Whether there is such an image is for whoever fetches it. What looks like an option or two words never is one.
  why: (word) =>
    /^[A-Za-z0-9./_][^\s\p{Cc}]{0,1023}$/u.test(word) ? null : "it does not look like a reference or a path",
});

const command = text({
  expected: "the name of a program",
  why: (word) => (/^[^\s/\p{Cc}]{1,255}$/u.test(word) ? null : "give its base name, without a path or arguments"),
});

const path = text({
  expected: "a path",
  why: (word) =>
    /^[^~\p{Cc}][^\p{Cc}]{0,4095}$/u.test(word) ? null : "write it out, without ~ and control characters",
});

const publishedPort = text({
  expected: "[address:]host-port:guest-port",
  why: (word) => (isPublished(word) ? null : "ports are numbers from 1 to 65535, for example 8080:80"),
});

function isPublished(word: string): boolean {
  const [, ports = ""] = /^(?:(?:[0-9.]+|\[[0-9a-fA-F:]+\]):)?(\d{1,5}:\d{1,5})$/.exec(word) ?? [];
  return ports !== "" && ports.split(":").every((one) => Number(one) >= port.min && Number(one) <= port.max);
}

const warmPool = {
  min_warm: { shape: number(count), help: "Sandboxes kept ready." },
  max_warm: { shape: number(count), help: "Most sandboxes kept ready." },
};

const imageChoice = {
  base_image: { shape: image, help: "The image, as --image takes it." },
  runtime: { shape: choice(runtimeNames), help: "The image of a language, instead of base_image." },
};

const domains = table({
  allow: { shape: list(domainOrPreset), help: "Only these can be reached; an empty list allows nothing." },
  deny: { shape: list(domainOrPreset), help: "Never reached, whatever else is allowed." },
});

const limits = table({
  ...numberEntries,
  profile: { shape: choice(profileNames), help: "Nothing is looser than this profile, unless another limit says so." },
  network: { shape: choice(["off", "allowlist", "on"]), help: "The most that can be reached." },
  workspace: { shape: list(choice(workspaceModes)), help: "The ways in which a project may be shown." },
  domains: { shape: domains, help: "allow: only rules within these count. deny: never reached." },
});

export const configShape = table({
  sandbox: {
    help: "What runs.",
    shape: table({
      name: { shape: name, help: "Of the sandbox that belongs to this project.", later: "create" },
      ...imageChoice,
      backend: { shape: choice(["auto", ...backendNames, "hyperlight"]), help: "What isolates the sandbox." },
    }),
  },
  agent: {
    help: "Whose commands run.",
    shape: table({
      preferred: {
        shape: choice(["claude", "gemini", "codex", "opencode"]),
        help: "Chooses the mode where none is named.",
      },
      compatibility_mode: { shape: choice(compatibilityModes), help: "Defaults that fit one agent." },
    }),
  },
  resources: { help: "Limits of a sandbox.", shape: table(numberEntries) },
  security: {
    help: "What is allowed.",
    shape: table({
      profile: { shape: choice(profileNames), help: "How much is allowed." },
      network: {
        shape: flag(),
        help: "false: nothing can be reached; true: every public address, or what domains.allow has.",
      },
      mount_cwd: { shape: flag(), help: "true: the real folder, live; false: a copy." },
      seccomp: { shape: choice(["default", "strict"]), help: "Which list of system calls." },
      domains: { shape: domains, help: "Names that can, or can never, be reached." },
      commands: {
        help: "Programs by name; a convenience, not a wall: a program that runs can start any other.",
        shape: table({
          allow: { shape: list(command), help: "Only these can be run." },
          deny: { shape: list(command), help: "These cannot be run." },
        }),
      },
    }),
  },
  files: {
    help: "Hidden files.",
    shape: table({
      show: {
        shape: list(glob),
        help: "Shown although built-in rules hide them, with all below: paths or globs from the top of a project.",
        userOnly: true,
      },
    }),
  },
  network: {
    help: "Ways in.",
    shape: table({
      vsock_cid: { shape: number({ min: 3, max: 4_294_967_294, whole: true }), help: "Of a microVM.", later: "run" },
      ports: { shape: list(publishedPort), help: "Published ports, as --publish takes them.", later: "run" },
    }),
  },
  daemon: {
    help: "The daemon and its warm pool.",
    shape: table({
      linger: {
        shape: parsedText("a time such as 5m", "^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$", parseDurationMs),
        help: "How long a daemon that a verb started owns nothing before it ends (5m).",
        userOnly: true,
      },
      ...warmPool,
      agents: {
        shape: dictionary(
          (key) => (whyNotName(key) === null ? null : "is not a name of an agent"),
          table({ ...warmPool, ...imageChoice }),
        ),
        help: "The same for one agent.",
      },
    }),
  },
  audit: {
    help: "The audit log.",
    shape: table({
      enabled: { shape: flag(), help: "Whether there is one (true).", userOnly: true },
      path: { shape: path, help: "The folder it lies in.", userOnly: true },
      max_mb: {
        shape: number(sizeMb),
        help: "A file larger than this is closed and a new one begun.",
        userOnly: true,
      },
      keep: { shape: number(count), help: "How many closed files are kept.", userOnly: true },
    }),
  },
  api: {
    help: "The HTTP interface.",
    shape: table({
      host: {
        shape: text({
          expected: "an address such as 127.0.0.1",
          why: (word) => (/^[0-9A-Za-z.:-]{1,253}$/.test(word) ? null : "it is none"),
        }),
        help: "Where it listens (127.0.0.1).",
        userOnly: true,
      },
      port: { shape: number(port), help: "The port it listens on (8080).", userOnly: true },
      e2b: { shape: flag(), help: "Whether the SDKs of E2B are served on the same port (false).", userOnly: true },
      e2b_domain: {
        shape: text({
          expected: "a domain such as localhost",
          why: (word) => (/^[0-9a-z.-]{1,190}$/.test(word) ? null : "it is none"),
        }),
        help: "What their names of sandboxes end with (localhost).",
        userOnly: true,
      },
      e2b_templates: {
        shape: dictionary(
          (key) => (/^[A-Za-z0-9][A-Za-z0-9._/-]{0,127}$/.test(key) ? null : "is not a template"),
          image,
        ),
        help: "Images that their templates stand for.",
        userOnly: true,
      },
    }),
  },
  images: {
    help: "Where images come from.",
    shape: table({
      mirrors: {
        shape: dictionary((key) => (isRegistry(key) ? null : "is not a registry such as docker.io"), list(registry())),
        help: "Registries that are asked before the one named in the key.",
        userOnly: true,
      },
      registries: {
        shape: list(registry()),
        help: "Registries beside the public ones that models and callers with keys may name images of.",
        userOnly: true,
      },
      disk_ceiling_mb: {
        shape: number(sizeMb),
        help: "The most that the image store may take.",
        userOnly: true,
      },
      lock: { shape: path, help: "The file that pins each image to a digest.", later: "images" },
    }),
  },
  limits: { help: "A ceiling that no project, no policy file and no flag can pass.", shape: limits, userOnly: true },
});

export type ConfigValue = ValueOf<typeof configShape>;

/** Where the key at the end of this path is written, as `file:line`. */
export type OriginOf = (path: string) => string;

function registry() {
  return text({
    expected: "a registry such as mirror.example:5000",
    why: (word) => (isRegistry(word) ? null : "it is none"),
  });
}

function isRegistry(word: string): boolean {
  return /^[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252}[A-Za-z0-9])?(?::\d{1,5})?$/.test(word);
}
