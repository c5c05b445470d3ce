/** Where an image is imported from, in the words that users of skopeo and podman know. Pure. */
import { AgentKernelError } from "../../core/errors.js";
import { escapeText } from "../../core/escape.js";

export type ImportSource =
  | { readonly kind: "stdin" }
  /** A path whose kind is found out by looking at what it holds. */
  | { readonly kind: "path"; readonly path: string }
  | {
      readonly kind: "docker-archive" | "oci-archive" | "oci-layout";
      readonly path: string;
      /** Which of several images. */
      readonly name: string | null;
    }
  | { readonly kind: "dir-folder" | "rootfs"; readonly path: string }
  | { readonly kind: "docker-engine" | "podman-engine"; readonly name: string };

/** An engine's names and ids; safe as an argument and as a part of a URL. */
const ENGINE_NAME = /^[A-Za-z0-9][A-Za-z0-9._:@/-]{0,511}$/;

type Reader = (rest: string, word: string) => ImportSource;

const named =
  (kind: "docker-archive" | "oci-archive" | "oci-layout"): Reader =>
  (rest, word) => {
    const colon = rest.indexOf(":");
    const path = colon < 0 ? rest : rest.slice(0, colon);
    return { kind, path: somePath(path, word), name: colon < 0 ? null : rest.slice(colon + 1) };
  };

const engine =
  (kind: "docker-engine" | "podman-engine"): Reader =>
  (rest, word) => {
    if (ENGINE_NAME.test(rest)) return { kind, name: rest };
    throw refused(`${word}:${rest}`, `${word}: wants the name or the id of an image`);
  };

const words: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ["docker-archive", named("docker-archive")],
  ["oci-archive", named("oci-archive")],
  ["oci", named("oci-layout")],
  ["dir", (path, word) => ({ kind: "dir-folder", path: somePath(path, word) })],
  ["rootfs", (path, word) => ({ kind: "rootfs", path: somePath(path, word) })],
  ["docker-daemon", engine("docker-engine")],
  ["containers-storage", engine("podman-engine")],
  ["podman", engine("podman-engine")],
]);

export function parseSource(text: string): ImportSource {
  if (text === "-") return { kind: "stdin" };
  if (text.includes("\0")) throw refused(text, "it has a NUL character");
  const colon = text.indexOf(":");
  const word = colon < 0 ? "" : text.slice(0, colon);
  const read = words.get(word);
  if (read !== undefined) return read(text.slice(colon + 1), word);
  if (text.startsWith("docker://")) {
    const reference = escapeText(text.slice("docker://".length, 200));
    throw refused(text, "an image of a registry is pulled", `agentkernel images pull ${reference}`);
  }
  return { kind: "path", path: somePath(text, "a source") };
}

function somePath(path: string, word: string): string {
  if (path === "") throw refused(word, "a path is missing");
  return path;
}

function refused(text: string, why: string, hint?: string): AgentKernelError {
  const known = [...words.keys()].map((word) => `${word}:`).join(", ");
  return new AgentKernelError("invalid_argument", `"${escapeText(text.slice(0, 100))}" cannot be imported: ${why}`, {
    hint: hint ?? `write a path, - for standard input, or one of ${known} and what it names`,
  });
}
