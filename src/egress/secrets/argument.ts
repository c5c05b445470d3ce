/** Reads `NAME:host[:header]`. What was typed is never repeated: it may be the secret itself, in the wrong place. */
import { AgentKernelError } from "../../core/errors.js";
import type { SecretBinding } from "../../core/policy.js";
import { parseHost } from "../host.js";

export const DEFAULT_HEADER = "authorization";
const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/;

/** They steer where a message goes, how long it is, or how its answer is written. */
const steering = new Set([
  ...["host", "content-length", "transfer-encoding", "connection", "keep-alive", "te", "trailer", "upgrade"],
  ...["expect", "proxy-authorization", "proxy-connection", "accept-encoding", "http2-settings"],
]);

export function parseSecretArgument(argument: string): SecretBinding {
  if (argument.includes("=")) {
    throw fault("it has a =", "the value is read from the variable NAME outside the sandbox, never from the argument");
  }
  const [name = "", host, header, ...more] = argument.split(":");
  if (host === undefined) throw fault("it names no host");
  if (more.length > 0) throw fault("it has more than three parts", "a host is a name, without port and not an address");
  return checkBinding({ name, host, header: header ?? DEFAULT_HEADER });
}

/** The same binding in canonical form. */
export function checkBinding({ name, host, header }: SecretBinding): SecretBinding {
  if (!NAME.test(name)) throw fault("the part before the first colon is no name of a variable", "for example API_KEY");
  return { name, host: checkHost(host), header: checkHeader(header) };
}

function checkHost(text: string): string {
  if (text.includes("*")) throw fault("the host has a wildcard", "name each host; a secret goes to no others");
  const host = parseHost(text);
  if (host.kind === "invalid") throw fault(`the host is no name: ${host.why}`);
  if (host.kind === "address")
    throw fault("the host is an address", "a secret is bound to a name, which can be verified");
  if (!host.name.includes(".")) throw fault("the host has no dot", "write the full name, for example api.example.com");
  return host.name;
}

function checkHeader(text: string): string {
  const header = text.toLowerCase();
  if (!TOKEN.test(header)) throw fault("the header is no header name", "for example x-api-key");
  if (steering.has(header)) throw fault(`the header ${header} cannot carry a secret`, "for example authorization");
  return header;
}

function fault(why: string, next = "for example API_KEY:api.example.com:x-api-key"): AgentKernelError {
  return new AgentKernelError("invalid_argument", `a secret is written NAME:host[:header]: ${why}`, {
    hint: next,
    details: { field: "secret" },
  });
}
