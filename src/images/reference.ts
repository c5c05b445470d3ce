/**
 * Image references as Docker's users write them: `python`, `python:3.12-alpine`, `localhost:5000/team/app:1@sha256:…`.
 * What is accepted here is safe as a path, as a part of a URL and as an argument.
 */
import { AgentKernelError } from "../core/errors.js";
import { escapeText } from "../core/escape.js";
import { type Digest, isDigest } from "./digest.js";

export interface ImageReference {
  /** Host and port as the user sees them: `docker.io`, `localhost:5000`; lower case. */
  readonly registry: string;
  /** With `library/` where Docker's own images are meant. */
  readonly repository: string;
  /** Null only where a digest is given. */
  readonly tag: string | null;
  readonly digest: Digest | null;
}

export const DEFAULT_REGISTRY = "docker.io";
const LIBRARY = "library/";
const MAX_NAME_CHARS = 255;
const MAX_REFERENCE_CHARS = 512;

const HOST_LABEL = "[a-z0-9](?:[a-z0-9-]*[a-z0-9])?";
const REGISTRY = new RegExp(`^(?:${HOST_LABEL}(?:\\.${HOST_LABEL})*|\\[[0-9a-f:.]{2,45}\\])(?::([1-9][0-9]{0,4}))?$`);
const COMPONENT = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/;
const TAG = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/;
const ONLY_HEX = /^[0-9a-f]{64}$/;

/** Names that mean something else where an image is asked for, so the short form is never one of them. */
const spokenFor = new Set(["host"]);

export function parseReference(text: string): ImageReference {
  const refuse = (why: string, hint = "write it as name, name:tag, or host/name:tag@sha256:…"): never => {
    const shown = escapeText(text.slice(0, 100));
    throw new AgentKernelError("invalid_argument", `"${shown}" is no image reference: ${why}`, { hint });
  };
  if (text === "") refuse("it is empty");
  if (text.length > MAX_REFERENCE_CHARS) refuse(`it is longer than ${MAX_REFERENCE_CHARS} characters`);
  if (text.startsWith("-")) refuse("it starts with a dash", "options go before the command; an image is a name");
  if (/[^\x21-\x7e]/.test(text)) refuse("it has a blank, a control character or a letter beyond ASCII");
  if (text.includes("://")) refuse("it is a URL", `leave out ${text.slice(0, text.indexOf("://") + 3)}`);

  const [named = "", digest, ...moreDigests] = text.split("@");
  if (moreDigests.length > 0) refuse("it has more than one @");
  if (digest !== undefined && !isDigest(digest)) refuse("what follows @ must be sha256: and 64 lower-case digits");

  // A colon before the last slash belongs to a port.
  const colon = named.indexOf(":", named.lastIndexOf("/") + 1);
  const name = colon < 0 ? named : named.slice(0, colon);
  const tag = colon < 0 ? null : named.slice(colon + 1);
  if (tag !== null && !TAG.test(tag)) refuse("a tag has up to 128 letters, digits, dots, dashes and underscores");

  const { registry, path } = splitRegistry(name);
  const port = REGISTRY.exec(registry);
  if (port === null || Number(port[1] ?? 1) > 65_535) refuse(`${escapeText(registry)} is no registry host`);
  if (path !== path.toLowerCase()) refuse("image names are lower case", `did you mean ${name.toLowerCase()}?`);
  if (!path.split("/").every((component) => COMPONENT.test(component))) {
    refuse("between slashes a name has lower-case letters and digits, joined by one dot, dashes or underscores");
  }
  if (ONLY_HEX.test(name)) refuse("64 hexadecimal digits alone are an identifier, not a name");
  const repository = registry === DEFAULT_REGISTRY && !path.includes("/") ? LIBRARY + path : path;
  if (registry.length + 1 + repository.length > MAX_NAME_CHARS) {
    refuse(`the name is longer than ${MAX_NAME_CHARS} characters`);
  }
  return {
    registry,
    repository,
    tag: tag ?? (digest === undefined ? "latest" : null),
    digest: isDigest(digest) ? digest : null,
  };
}

/** The first component is a host if it looks like one: a dot, a port, or `localhost`. */
function splitRegistry(name: string): { registry: string; path: string } {
  const slash = name.indexOf("/");
  const first = name.slice(0, slash);
  if (slash < 0 || !looksLikeHost(first)) return { registry: DEFAULT_REGISTRY, path: name };
  const registry = first.toLowerCase();
  const path = name.slice(slash + 1);
  return { registry: registry === "index.docker.io" ? DEFAULT_REGISTRY : registry, path };
}

function looksLikeHost(component: string): boolean {
  return /[.:]/.test(component) || component.toLowerCase() === "localhost";
}

function suffix({ tag, digest }: ImageReference): string {
  return (tag === null ? "" : `:${tag}`) + (digest === null ? "" : `@${digest}`);
}

/** The whole of it; equal references have equal canonical forms. */
export function canonicalForm(reference: ImageReference): string {
  return `${reference.registry}/${reference.repository}${suffix(reference)}`;
}

/** The shortest form that means the same. */
export function familiarForm(reference: ImageReference): string {
  return familiarName(reference) + suffix(reference);
}

function familiarName({ registry, repository }: ImageReference): string {
  if (registry !== DEFAULT_REGISTRY) return `${registry}/${repository}`;
  const bare = repository.slice(LIBRARY.length);
  const isLibrary = repository.startsWith(LIBRARY) && !bare.includes("/");
  if (isLibrary && !ONLY_HEX.test(bare) && !spokenFor.has(bare)) return bare;
  return looksLikeHost(repository.slice(0, repository.indexOf("/"))) ? `${registry}/${repository}` : repository;
}
