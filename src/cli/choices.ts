/** What a run is made of besides its policy: the backend and the image, of which this version has one each. */
import { backendNames } from "../core/backend.js";
import { AgentKernelError } from "../core/errors.js";
import { nearest } from "../policy/nearest.js";
import type { RunRequest } from "./run-request.js";

const aliases: Readonly<Record<string, string>> = { hyperlight: "wasm" };

export function checkBackend(name: string | undefined, origin = "--backend"): void {
  if (name === undefined || name === "auto" || name === "linux") return;
  const known: readonly string[] = backendNames;
  if (known.includes(aliases[name] ?? name)) {
    throw new AgentKernelError("backend_unavailable", `the backend ${name} is not in this version`, {
      hint: "use --backend linux, or leave it out",
    });
  }
  const near = nearest(name, ["auto", ...known]);
  throw new AgentKernelError("invalid_argument", `${origin}: there is no backend "${name}"`, {
    hint: near === null ? "use --backend linux, or leave it out" : `did you mean ${near}?`,
  });
}

export interface AskedImage {
  readonly reference: string;
  /** The flag, or the line of the file, that names it. */
  readonly origin: string;
}

/** An image that was named is never replaced by another. */
export function chooseImage(asked: AskedImage | null): RunRequest["image"] {
  if (asked !== null && asked.reference !== "host") {
    const message = `the image "${asked.reference}" (${asked.origin}) cannot be had: this version has only host`;
    throw new AgentKernelError("image_unavailable", message, {
      hint: "use --image host (this machine's own /usr, read-only), or leave it out",
    });
  }
  const why = asked === null ? "no image was named, and host is the only one of this version" : asked.origin;
  return { name: "host", source: { kind: "host" }, why, asked };
}
