import { execFileSync } from "node:child_process";
import { chownSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { hostPlatform, platformText } from "../images/platform.js";
import { layerFolder, readyPath } from "../images/store/ready.js";
import { LAYER_LIMITS } from "../images/unpack/limits.js";
import { type ImageSettings, resolveRoot } from "./root-image.js";

let root = "";
let settings: ImageSettings;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "agentkernel-root-image-"));
  settings = {
    storeRoot: join(root, "store"),
    pull: "never",
    mirrors: [],
    ceilingBytes: null,
    layerLimits: LAYER_LIMITS,
    env: {},
    homeDir: root,
    projectDir: root,
  };
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const detected = { name: "python:3.12-alpine", why: "the command", named: false };

describe("an image that nobody named", () => {
  it("gives way to the host's programs where it cannot be had", async () => {
    expect(await resolveRoot(detected, settings)).toMatchObject({
      name: "host",
      notes: [expect.stringContaining("python:3.12-alpine could not be had")],
    });
  });

  it.each<[string, (path: string) => void]>([
    ["is no lock", (path) => writeFileSync(path, "garbage")],
    ["is a folder", (path) => mkdirSync(path)],
    ["is a pipe that nobody writes", (path) => execFileSync("mkfifo", [path])],
    ["leads to an endless file", (path) => symlinkSync("/dev/zero", path)],
  ])("does not where the project's lock file %s", async (_, make) => {
    make(join(root, "agentkernel.lock"));
    await expect(resolveRoot(detected, settings)).rejects.toMatchObject({
      code: "invalid_policy",
      message: expect.stringContaining("agentkernel.lock"),
      hint: expect.any(String),
    });
  });
});

it("a failure names the image that was named", async () => {
  const nowhere = { ...settings, pull: "missing" as const };
  const named = { name: "127.0.0.1:1/no/such:1", why: "--image", named: true };
  const failure = await resolveRoot(named, nowhere).catch((error: unknown) => error);
  expect(failure).toMatchObject({ hint: expect.any(String) });
  expect(String(failure)).toContain("image 127.0.0.1:1/no/such:1: ");
});

it.runIf(process.getuid?.() === 0)("a store that another user can write to is not believed", async () => {
  const { storeRoot } = settings;
  const [reference, platform] = ["docker.io/library/python:3.12-alpine", platformText(hostPlatform())];
  const layer = "a".repeat(64);
  const nothing = { env: [], entrypoint: [], cmd: [], workdir: null, user: null };
  const ready = { reference, platform, digest: "sha256:1", manifestDigest: "sha256:2", ...nothing, layers: [layer] };
  for (const folder of ["ready", "pins", "partial"]) mkdirSync(join(storeRoot, folder), { recursive: true });
  mkdirSync(layerFolder(storeRoot, layer), { recursive: true });
  writeFileSync(readyPath(storeRoot, reference, platform), JSON.stringify(ready));
  const named = { ...detected, named: true };
  expect(await resolveRoot(named, settings)).toMatchObject({ name: named.name, digest: "sha256:1" });
  chownSync(storeRoot, 12_345, 12_345);
  await expect(resolveRoot(named, settings)).rejects.toMatchObject({
    message: expect.stringContaining("another user"),
  });
});
