/** The verbs of the HTTP interface, and their options. */
import { backendNames } from "../core/backend.js";
import { settableNumbers } from "../settings/index.js";
import type { OptionSpec, VerbSpec } from "./option-spec.js";

const jsonOption: OptionSpec = { long: "json", help: "print the result as JSON" };

/** The same words as in src/api/operations/operation.ts; a test holds that. */
export const keyScopes = ["run", "read", "sandboxes", "metrics", "admin"] as const;

/** The most that a key may ask for: src/api/auth/key-ceiling.ts. */
const ceilingOptions: readonly OptionSpec[] = [
  ...settableNumbers.map(({ setting: { flag, quantity, help, keyCeiling } }) => ({
    long: flag,
    value: quantity.placeholder,
    help: `ceiling: ${help} (${quantity.format(keyCeiling)})`,
  })),
  {
    long: "network",
    value: "WHICH",
    choices: ["off", "on"],
    help: "whether its sandboxes may reach the network (off)",
  },
  {
    long: "allow-domain",
    value: "DOMAIN",
    repeats: true,
    help: "its sandboxes may reach this name and nothing else (repeatable)",
  },
  {
    long: "image",
    value: "IMAGE",
    repeats: true,
    help: "only this image, all tags of a name, or NAME/*; repeatable (those of public registries)",
  },
  {
    long: "backend",
    value: "NAME",
    repeats: true,
    choices: backendNames,
    help: "only this backend; repeatable (those that isolate as much as yours)",
  },
  {
    long: "port",
    value: "PORT|FROM-TO",
    repeats: true,
    help: "let it reach servers inside its sandboxes at these ports (none; repeatable)",
  },
  {
    long: "dir",
    value: "DIR",
    completes: "folder",
    repeats: true,
    help: "it may show copies of this directory and those below it; repeatable (none)",
  },
];

export const apiVerbs: readonly VerbSpec[] = [
  {
    name: "serve",
    summary: "serve the HTTP interface, in the foreground",
    usage: "serve [options]",
    examples: [
      "agentkernel serve",
      "agentkernel serve --host 0.0.0.0 --port 8443 --tls-cert cert.pem --tls-key key.pem",
    ],
    options: [
      { long: "host", value: "ADDRESS", help: "where to listen (127.0.0.1); anything but loopback needs keys" },
      { long: "port", value: "PORT", help: "the port to listen on (8080); 0: any that is free" },
      { long: "tls-cert", value: "FILE", completes: "file", help: "serve HTTPS with this certificate (PEM)" },
      { long: "tls-key", value: "FILE", completes: "file", help: "the certificate's key (PEM)" },
      { long: "jwks", value: "FILE|URL", completes: "file", help: "take tokens that one of these keys signed" },
      { long: "jwt-issuer", value: "NAME", help: "only tokens of this issuer" },
      { long: "jwt-audience", value: "NAME", help: "only tokens for this audience" },
      { long: "max-concurrent", value: "N", help: "commands at once, of all callers (64); more wait their turn" },
      { long: "rate", value: "N", help: "requests a minute of a key that has no rate of its own (60000)" },
      { long: "access-log", value: "FILE", completes: "file", help: "where requests are recorded" },
      { long: "log", value: "FILE", completes: "file", help: "where its own log goes (stderr)" },
      { long: "e2b", help: "serve the SDKs of E2B on the same port" },
      { long: "e2b-domain", value: "NAME", help: "their names of sandboxes end so (localhost)" },
      {
        long: "e2b-template",
        value: "NAME=IMAGE",
        repeats: true,
        help: "the image of their template NAME; repeatable",
      },
    ],
    rest: { kind: "none" },
    apart: true,
    load: () => import("./verbs/serve.js"),
  },
  {
    name: "keys create",
    summary: "make an API key; it is shown once and never again",
    usage: "keys create [options] NAME",
    examples: [
      "agentkernel keys create ci --scope run --rate 600",
      "agentkernel keys create helper --scope sandboxes --sandbox work --expires 24h",
      "agentkernel keys create builder --memory 4g --allow-domain registry.example.com --dir ~/project",
    ],
    options: [
      { long: "scope", value: "SCOPE", choices: keyScopes, repeats: true, help: "what it may do (run); repeatable" },
      { long: "sandbox", value: "NAME", repeats: true, help: "only this sandbox, whoever made it; repeatable" },
      { long: "expires", value: "TIME", help: "it is valid for so long, such as 24h or 90d" },
      { long: "concurrency", value: "N", help: "commands at once" },
      { long: "rate", value: "N", help: "requests a minute" },
      { long: "max-sandboxes", value: "N", help: "sandboxes at once (10)" },
      { long: "cpu-seconds", value: "N", help: "processor time of its commands within an hour" },
      ...ceilingOptions,
      { long: "e2b", help: "print it as the SDKs of E2B take it, and let it make sandboxes" },
      jsonOption,
    ],
    rest: { kind: "words" },
    load: () => import("./verbs/keys-create.js"),
  },
  {
    name: "keys list",
    summary: "show the API keys, without the keys themselves",
    usage: "keys list [options]",
    examples: ["agentkernel keys list"],
    options: [jsonOption],
    rest: { kind: "none" },
    load: () => import("./verbs/keys-list.js"),
  },
  {
    name: "keys revoke",
    summary: "end an API key at once",
    usage: "keys revoke [options] NAME",
    examples: ["agentkernel keys revoke ci"],
    options: [jsonOption],
    rest: { kind: "words" },
    load: () => import("./verbs/keys-revoke.js"),
  },
  {
    name: "keys token",
    summary: "print the token that stands for you on this machine, while serve runs",
    usage: "keys token [options]",
    examples: ["agentkernel keys token", "agentkernel keys token --port 8081"],
    options: [
      { long: "port", value: "PORT", help: "of the server that listens there (your daemon's)" },
      { long: "e2b", help: "print it as the SDKs of E2B take it" },
    ],
    rest: { kind: "none" },
    load: () => import("./verbs/keys-token.js"),
  },
];
