/** What a run is made of besides its policy: the backend and the image, of which this version has one each. */
import { backendNames } from "../core/backend.js";
import { AgentKernelError } from "../core/errors.js";
import { nearest } from "../policy/nearest.js";
import type { RunRequest } from "./run-request.js";

const aliases: Readonly<Record<string, string>> = { hyperlight: "wasm" };

export function checkBackend(name: string | undefined): void {
  if (name === undefined || name === "auto" || name === "linux") return;
  const known: readonly string[] = backendNames;
  if (known.includes(aliases[name] ?? name)) {
    throw new AgentKernelError("backend_unavailable", `the backend ${name} is not in this version`, {
      hint: "use --backend linux, or leave it out",
    });
  }
  const near = nearest(name, ["auto", ...known]);
  throw new AgentKernelError("invalid_argument", `--backend: there is no backend "${name}"`, {
    hint: near === null ? "use --backend linux, or leave it out" : `did you mean ${near}?`,
  });
}

export function chooseImage(name: string | undefined): RunRequest["image"] {
  if (name !== undefined && name !== "host") {
    throw new AgentKernelError("image_unavailable", `the image "${name}" cannot be had: this version has only host`, {
      hint: "use --image host (this machine's own /usr, read-only), or leave it out",
    });
  }
  const why = name === undefined ? "no image was named, and host is the only one of this version" : "--image";
  return { name: "host", source: { kind: "host" }, why };
}
