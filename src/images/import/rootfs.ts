/** An image that is nothing but a root filesystem: one layer, and a configuration that says nothing more. */
import { spawn } from "node:child_process";
import { AgentKernelError } from "../../core/errors.js";
import { escapeText } from "../../core/escape.js";
import { hashOf, stretchOf } from "../archive/content.js";
import type { Platform } from "../platform.js";
import { madeConfig, madeManifest } from "./made-manifest.js";
import type { ImagePlan } from "./plan.js";
import type { OpenArchive } from "./spool.js";

export async function planFromRootfs({ file, sizeBytes }: OpenArchive, platform: Platform): Promise<ImagePlan> {
  const content = stretchOf(file, 0, sizeBytes);
  const digest = await hashOf(content);
  const config = madeConfig(platform, digest);
  const manifest = madeManifest("oci", config, [{ digest, sizeBytes, compression: "none" }]);
  return { name: null, config, layers: [content], ...manifest };
}

const MAX_COMPLAINT_CHARS = 64 * 1024;

/**
 * The folder as a tar archive, the same for the same files. Extended attributes cannot be read from here, so a native
 * program writes it; what it left out (devices, sockets) goes to `onSkipped`.
 */
export async function* packedFolder(
  packBinary: string,
  folder: string,
  onSkipped: (path: string, why: string) => void,
  signal?: AbortSignal,
): AsyncGenerator<Buffer, void, void> {
  const child = spawn(packBinary, ["--", folder], {
    stdio: ["ignore", "pipe", "pipe"],
    env: {},
    ...(signal === undefined ? {} : { signal }),
  });
  let words = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    words = (words + text).slice(0, MAX_COMPLAINT_CHARS);
  });
  const ended = new Promise<number | Error | null>((resolve) => {
    child.once("error", resolve);
    child.once("close", resolve);
  });
  try {
    yield* child.stdout as AsyncIterable<Buffer>;
    const status = await ended;
    signal?.throwIfAborted();
    const lines = words.split("\n").filter((line) => line !== "");
    if (status !== 0) {
      const reason = escapeText(lines.at(-1) ?? "");
      throw new AgentKernelError("image_invalid", `the folder ${escapeText(folder)} cannot be packed: ${reason}`, {
        hint: "whoever packs a root filesystem must be able to read all of it; run it as root",
        ...(status instanceof Error ? { cause: status } : {}),
      });
    }
    for (const line of lines) {
      const [, why = "", path = ""] = /^skipped (\S+) (.*)$/.exec(line) ?? [];
      if (path !== "") onSkipped(path, why);
    }
  } finally {
    child.kill("SIGKILL");
  }
}
