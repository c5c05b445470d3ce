/** An image's configuration: what a command in it starts with, and what its layers are once unpacked. */
import { AgentKernelError } from "../core/errors.js";
import { type Digest, isDigest } from "./digest.js";
import { asObject, fieldOf, type JsonObject, parseJsonObject, textField, textsField } from "./json-shape.js";
import type { Platform } from "./platform.js";

interface ImageConfig {
  readonly platform: Platform;
  /** `NAME=value`, in order. */
  readonly env: readonly string[];
  readonly entrypoint: readonly string[];
  readonly cmd: readonly string[];
  /** Absolute; null where the image says none. */
  readonly workdir: string | null;
  /** `name`, `uid`, `name:group` or `uid:gid`; null where the image says none. */
  readonly user: string | null;
  /** Digests of the unpacked layers, lowest first. */
  readonly diffIds: readonly Digest[];
}

function invalid(why: string): AgentKernelError {
  return new AgentKernelError("image_invalid", `the image's configuration ${why}`);
}

export function parseImageConfig(bytes: Uint8Array): ImageConfig {
  const object = parseJsonObject(bytes);
  if (object === null) throw invalid("is no JSON object");
  const config = asObject(fieldOf(object, "config") ?? {});
  const rootfs = asObject(fieldOf(object, "rootfs"));
  if (config === null || rootfs === null) throw invalid("lacks its parts");
  const diffIds = fieldOf(rootfs, "diff_ids") ?? [];
  if (!Array.isArray(diffIds) || !diffIds.every(isDigest)) throw invalid("lists layers by something else than sha256");
  const variant = textField(object, "variant");
  return {
    platform: {
      os: textField(object, "os") ?? "",
      architecture: textField(object, "architecture") ?? "",
      variant: variant === "" ? null : variant,
    },
    env: texts(config, "Env").filter((entry) => /^[^=]+=/.test(entry)),
    entrypoint: texts(config, "Entrypoint"),
    cmd: texts(config, "Cmd"),
    workdir: workdir(text(config, "WorkingDir")),
    user: text(config, "User"),
    diffIds,
  };
}

function text(config: JsonObject, name: string): string | null {
  const value = fieldOf(config, name) ?? "";
  if (typeof value !== "string" || value.includes("\0")) throw invalid(`has a ${name} that is no text`);
  return value === "" ? null : value;
}

function texts(config: JsonObject, name: string): readonly string[] {
  const values = textsField(config, name);
  if (values === null || values.some((value) => value.includes("\0"))) throw invalid(`has a ${name} that is no list`);
  return values;
}

function workdir(path: string | null): string | null {
  if (path !== null && !path.startsWith("/")) throw invalid("has a working folder that is not absolute");
  return path;
}
