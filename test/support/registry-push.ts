/** Writes images as an OCI layout by hand, and pushes them with skopeo. */
import { execFile, execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { digestHex } from "../../src/images/digest.js";
import { descriptorOf, type MadeDocument, type MadeImage } from "./registry-image.js";

interface PushOptions {
  /** `user:password`. */
  readonly login?: string;
  readonly format?: "oci" | "v2s2";
}

/** A layer as tools make it: a tar archive of one folder with one file, compressed. */
export function tarLayer(folder: string, name: string, content: Buffer): Buffer {
  mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(join(folder, name, "file"), content);
  return execFileSync("tar", ["-C", folder, "--mtime=@0", "--owner=0", "--group=0", "--gzip", "-cf", "-", name], {
    maxBuffer: 512 * 1024 * 1024,
  });
}

export function writeLayout(folder: string, tag: string, top: MadeDocument, images: readonly MadeImage[]): void {
  mkdirSync(join(folder, "blobs", "sha256"), { recursive: true });
  for (const { bytes, digest } of [
    top,
    ...images.flatMap(({ manifest, config, layers }) => [manifest, config, ...layers]),
  ]) {
    writeFileSync(join(folder, "blobs", "sha256", digestHex(digest)), bytes);
  }
  const annotations = { "org.opencontainers.image.ref.name": tag };
  writeFileSync(join(folder, "oci-layout"), '{"imageLayoutVersion":"1.0.0"}');
  const index = { schemaVersion: 2, manifests: [{ ...descriptorOf(top), annotations }] };
  writeFileSync(join(folder, "index.json"), JSON.stringify(index));
}

/** Does not block: the registry's token service may live in this process. */
export async function pushLayout(
  folder: string,
  tag: string,
  target: string,
  options: PushOptions = {},
): Promise<void> {
  const login = options.login === undefined ? [] : ["--dest-creds", options.login];
  const format = options.format === undefined ? [] : ["--format", options.format];
  const args = ["copy", "--quiet", "--insecure-policy", "--dest-tls-verify=false", "--all", ...login, ...format];
  await promisify(execFile)("skopeo", [...args, `oci:${folder}:${tag}`, `docker://${target}`]);
}
