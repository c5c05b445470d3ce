/** Images for runs of the real command line: small ones around busybox, served on loopback, and stores to keep them in. */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { onTestFinished } from "vitest";
import { hostPlatform } from "../../src/images/platform.js";
import type { Actor } from "./actors.js";
import { type MadeImage, makeImage, sha256 } from "./registry-image.js";
import { type CliOptions, type CliResult, runCli } from "./run-cli.js";
import { file, folder, symlink, type TarItem, tarOf } from "./tar-maker.js";

const APPLETS = ["sh", "cat", "ls", "id", "env", "pwd", "stat", "true", "sleep", "echo", "find", "wc", "touch", "head"];

/** A root that runs: busybox, its links, the folders that images have, root's account. */
function busyboxItems(): readonly TarItem[] {
  return [
    ...["bin", "etc", "usr", "usr/bin", "root", "tmp", "var"].map((name) => folder(name)),
    file("bin/busybox", readFileSync("/bin/busybox"), 0o755),
    ...APPLETS.map((name) => symlink(`bin/${name}`, "busybox")),
    file("etc/passwd", "root:x:0:0:root:/root:/bin/sh\ndev:x:1000:1000::/home/dev:/bin/sh\n"),
    file("etc/group", "root:x:0:\ndev:x:1000:\n"),
  ];
}

let base: Buffer | undefined;

/** The layer that all small images have in common. */
export function busyboxTar(): Buffer {
  base ??= tarOf(busyboxItems());
  return base;
}

/** A program in an image that says which image it is in. */
export function marker(path: string, text: string): readonly TarItem[] {
  return [file("marker", text), file(path, '#!/bin/sh\necho "$(cat /marker) $*"\n', 0o755)];
}

interface ServedOptions {
  /** Uncompressed, lowest first. */
  readonly tars: readonly Buffer[];
  readonly config?: Readonly<Record<string, unknown>>;
  /** What the configuration says that they are; otherwise the truth. */
  readonly diffIds?: readonly string[];
}

export function imageOf({ tars, config = {}, diffIds }: ServedOptions): MadeImage {
  return makeImage({
    layers: tars.map((tar) => gzipSync(tar, { level: 1 })),
    layerType: "application/vnd.oci.image.layer.v1.tar+gzip",
    diffIds: diffIds ?? tars.map((tar) => sha256(tar)),
    architecture: hostPlatform().architecture,
    config,
  });
}

/** An image store of an actor's own that asks one registry and nobody else. */
export class TestStore {
  readonly actor: Actor;
  readonly root: string;
  readonly env: Readonly<Record<string, string>>;

  constructor(actor: Actor, registryHost: string) {
    this.actor = actor;
    const data = actor.folder("data");
    this.root = join(data, "agentkernel", "images");
    this.env = {
      AGENTKERNEL_IMAGE: "",
      AGENTKERNEL_PULL: "missing",
      AGENTKERNEL_IMAGE_MIRRORS: `http://${registryHost},only`,
      XDG_DATA_HOME: data,
    };
    // Only root could remove a user's layers otherwise, with their files of subordinate ids.
    onTestFinished(() => {
      const layers = [...this.names("layers"), ...this.names("unpacking")];
      const paths = layers.length === 0 ? [] : ["layers", "unpacking"].map((name) => join(this.root, name));
      if (process.getuid?.() !== 0 && paths.length > 0) {
        execFileSync(join(actor.dist, "native", "ak-unpack"), ["remove", ...paths]);
      }
    });
  }

  run(words: readonly string[], options: CliOptions = {}): Promise<CliResult> {
    const env = { ...this.env, ...options.env };
    return runCli(this.actor, ["run", "--no-network", ...words], {
      cwd: this.actor.folder(),
      ...options,
      env,
    });
  }

  /** What lies in a folder of the store. */
  names(folderName: string): readonly string[] {
    try {
      return readdirSync(join(this.root, folderName)).sort();
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
      throw error;
    }
  }

  /** What an image that was refused must not leave. */
  unpackedThings(): Readonly<Record<string, readonly string[]>> {
    return { ready: this.names("ready"), layers: this.names("layers"), unpacking: this.names("unpacking") };
  }
}

export const NOTHING_UNPACKED = { ready: [], layers: [], unpacking: [] };

/** Lines on stderr that are about images, without those about the sandbox's walls. */
export function imageLines(stderr: string): readonly string[] {
  return stderr.split("\n").filter((line) => /image|pulling|programs/.test(line));
}
