/**
 * Copies out of and into a sandbox (`cp`). Whatever a sandbox has where it is copied from, whatever it does meanwhile, and
 * whatever it put where it is copied to, nothing of the host's is read or written but what the user named.
 */

import { spawnSync } from "node:child_process";
import { lstatSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { builtInHideRules } from "../../../src/policy/hidden.js";
import { type CopyEnd, type CopyOptions, copyTree } from "../../../src/runtime/copy/index.js";
import { Contract } from "../../contract/suite/contract.js";
import { actors } from "../../support/actors.js";
import { backendOf } from "../../support/backend-of.js";
import { contentOf, makeProject } from "../../support/project.js";
import { runOutside } from "../../support/run-as.js";
import { privateKeyHolding } from "../../support/secret-files.js";

const options: CopyOptions = { hide: [], maxBytes: 64 << 20, maxEntries: 10_000 };
const onHost = (path: string): CopyEnd => ({ at: "host", path });

describe.each(actors)("F5 a copy out of a sandbox, as $name", (actor) => {
  const contract = new Contract({
    actor: actor,
    backend: backendOf(actor),
    lacks: new Map(),
    programs: undefined,
    hasImage: false,
  });
  const secretOf = () => makeProject(actor, { secret: "of the host\n" }).path;

  it("paths and links lead to the sandbox's own files, never to the host's", async () => {
    const outside = secretOf();
    await contract.sandbox({}, async (sandbox) => {
      const inside = (path: string): CopyEnd => ({ at: "sandbox", path, files: sandbox.files });
      const plant = `ln -s ${outside}/secret link; ln -s ${outside} folder; ln -s ../../../../../..${outside}/secret up`;
      // Outside the sandbox each of these names reads the secret.
      const planted = actor.folder("planted");
      runOutside(actor, ["sh", "-c", plant], { cwd: planted });
      expect(runOutside(actor, ["cat", "link", "folder/secret", "up"], { cwd: planted }).stdout).toBe(
        "of the host\n".repeat(3),
      );
      expect(await sandbox.sh(`mkdir /tmp/p; cd /tmp/p; ${plant}; ln -s link fine; echo x > file`)).toMatchObject({
        code: 0,
      });
      const target = actor.folder("target");
      for (const path of ["/tmp/p/link", "/tmp/p/folder/secret", "/tmp/p/up", `/tmp/../../..${outside}/secret`]) {
        await expect(copyTree(inside(path), onHost(target), options)).rejects.toMatchObject({
          details: { code: "not_found" },
        });
      }
      const report = await copyTree(inside("/tmp/p"), onHost(target), options);
      expect(report.notes.map(({ path }) => path).sort()).toEqual(["folder", "link", "up"]);
      expect(contentOf(target)).toEqual({ "p/": "", "p/file": "x\n", "p/fine": "-> link" });
    });
  });

  it("pipes, devices, sparse and endless files end with an error or a note, and cost nothing", async () => {
    await contract.sandbox({}, async (sandbox) => {
      const inside = (path: string): CopyEnd => ({ at: "sandbox", path, files: sandbox.files });
      const made = await sandbox.sh(
        "mkdir /tmp/s; cd /tmp/s; mkfifo pipe; truncate -s 1T huge; mkdir odd; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"odd/socket\")'; mkfifo odd/pipe",
      );
      expect(made).toMatchObject({ code: 0 });
      const target = actor.folder("target");
      const refused = async (path: string, error: object) =>
        await expect(copyTree(inside(path), onHost(target), options)).rejects.toMatchObject(error);
      await refused("/tmp/s/pipe", { details: { code: "not_regular" } });
      await refused("/dev/zero", { details: { code: "not_regular" } });
      await refused("/tmp/s/huge", { code: "resource_exhausted", hint: expect.stringContaining("--max-size") });
      await refused("/tmp/s", { code: "resource_exhausted" });
      // What the kernel shows of the process that opens files here.
      await refused("/proc/self/maps", { details: { code: "denied" } });
      const report = await copyTree(inside("/tmp/s/odd"), onHost(target), options);
      expect(report.notes.map(({ reason }) => reason).sort()).toEqual(["a pipe", "a socket"]);
      const blocks = spawnSync("du", ["-s", "--block-size=1", target], { encoding: "utf8" });
      expect(Number.parseInt(blocks.stdout, 10)).toBeLessThan(1 << 20);
    });
  });

  it("a file that grows is copied as far as it was, and a copy can be called off", async () => {
    await contract.sandbox({}, async (sandbox) => {
      const inside = (path: string): CopyEnd => ({ at: "sandbox", path, files: sandbox.files });
      const writer = await sandbox.start(["sh", "-c", "while echo grows; do :; done >> /tmp/log"]);
      await expect
        .poll(async () => (await sandbox.files.stat("/tmp/log").catch(() => null))?.sizeBytes ?? 0)
        .toBeGreaterThan(100);
      const target = actor.folder("target");
      await copyTree(inside("/tmp/log"), onHost(target), options);
      expect(statSync(join(target, "log")).size).toBeLessThan(options.maxBytes);
      writer.exec.signal(9, "tree");
      await writer.ran();
      await sandbox.sh("head -c 30000000 /dev/zero > /tmp/large");
      const abort = new AbortController();
      const calledOff = copyTree(inside("/tmp/large"), onHost(target), {
        ...options,
        signal: abort.signal,
        onProgress: (bytes) => {
          if (bytes > 5_000_000) abort.abort(new Error("called off"));
        },
      });
      await expect(calledOff).rejects.toThrow("called off");
      expect(readdirSync(target)).toEqual(["log"]);
      expect(await sandbox.sh("echo still here")).toMatchObject({ stdout: "still here\n" });
    });
  });

  it("modes come without set-id bits, and names that could steer a terminal stay inside", async () => {
    await contract.sandbox({}, async (sandbox) => {
      await sandbox.sh(
        "mkdir /tmp/m; cd /tmp/m; echo x > tool; chmod 6755 tool; echo x > \"$(printf 'a\\033[2Jb')\"; mkdir \"$(printf 'n\\nl')\"",
      );
      const target = actor.folder("target");
      const from: CopyEnd = { at: "sandbox", path: "/tmp/m", files: sandbox.files };
      const report = await copyTree(from, onHost(target), options);
      expect(lstatSync(join(target, "m", "tool")).mode & 0o7777).toBe(0o755);
      expect(readdirSync(join(target, "m"))).toEqual(["tool"]);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must not be there
      expect(JSON.stringify(report.notes)).not.toMatch(/[\u0000-\u001f]/);
      expect(report.notes.map(({ path }) => path).join()).not.toContain("\u001b");
    });
  });
});

describe.each(actors)("F5 a copy into a project that the sandbox has mounted, as $name", (actor) => {
  const contract = new Contract({
    actor: actor,
    backend: backendOf(actor),
    lacks: new Map(),
    programs: undefined,
    hasImage: false,
  });

  it("is not led away by links that are swapped in meanwhile", async () => {
    const outside = makeProject(actor, { kept: "of the host\n" }).path;
    const project = makeProject(actor, { "out/src/sub/file": "old\n" }).path;
    // Whoever follows links writes outside.
    const naive = makeProject(actor, { "new/sub/file": "attacked\n" }).path;
    const linked = makeProject(actor, {}).path;
    runOutside(actor, ["ln", "-s", outside, join(linked, "sub")]);
    runOutside(actor, ["cp", join(naive, "new/sub/file"), join(linked, "sub/probe")]);
    expect(readFileSync(join(outside, "probe"), "utf8")).toBe("attacked\n");
    const before = contentOf(outside);
    const fields = { "fs.workspace.mode": "mount" } as const;
    await contract.sandbox({ projectDir: project, fields }, async (sandbox) => {
      await sandbox.sh("mkdir -p /tmp/src/sub; for i in 1 2 3 4 5 6 7 8 9; do echo new > /tmp/src/sub/f$i; done");
      const swapping = await sandbox.start([
        "sh",
        "-c",
        `cd /workspace/out/src; echo ready; while :; do mv sub real; ln -s ${outside} sub; rm sub; mv real sub; done`,
      ]);
      await swapping.until(/ready/);
      const from: CopyEnd = { at: "sandbox", path: "/tmp/src", files: sandbox.files };
      for (let round = 0; round < 40; round++) {
        // It fails, or leaves something out, or lands in the real folder.
        await copyTree(from, onHost(join(project, "out")), options).catch(() => null);
      }
      swapping.exec.signal(9, "tree");
      await swapping.ran();
    });
    expect(contentOf(outside)).toEqual(before);
  });
});

describe.each(actors)("F8 secrets in copies, as $name", (actor) => {
  const contract = new Contract({
    actor: actor,
    backend: backendOf(actor),
    lacks: new Map(),
    programs: undefined,
    hasImage: false,
  });

  it("a copy of the project out of the sandbox has none of them, and a copy of a folder into it leaves them out", async () => {
    const files = {
      ".env": "TOKEN=1\n",
      "sub/id_rsa": privateKeyHolding("PRIVATE"),
      ".npmrc": "_authToken=8f3c0a12\n",
      "a.txt": "a\n",
    };
    const project = makeProject(actor, files).path;
    await contract.sandbox({ projectDir: project }, async (sandbox) => {
      const inside = (path: string): CopyEnd => ({ at: "sandbox", path, files: sandbox.files });
      const target = actor.folder("target");
      await copyTree(inside("/workspace/."), onHost(target), options);
      expect(contentOf(target)).toEqual({ "a.txt": "a\n", "sub/": "" });
      await expect(copyTree(inside("/workspace/.env"), onHost(target), options)).rejects.toMatchObject({
        details: { code: "not_found" },
      });
      mkdirSync(join(project, "more"));
      writeFileSync(join(project, "more", "b.txt"), "b\n");
      const report = await copyTree(onHost(project), inside("/tmp/in"), { ...options, hide: builtInHideRules });
      expect(report.notes.map(({ path }) => path).sort()).toEqual([".env", ".npmrc", "sub/id_rsa"]);
      const found = await sandbox.sh("cd /tmp/in; find . -type f | sort; grep -r 'TOKEN\\|PRIVATE' . | wc -l");
      expect(found.stdout).toBe("./a.txt\n./more/b.txt\n0\n");
      // What is named outright is meant.
      await copyTree(onHost(join(project, ".env")), inside("/tmp/named"), { ...options, hide: builtInHideRules });
      expect((await sandbox.sh("cat /tmp/named")).stdout).toBe("TOKEN=1\n");
    });
  });
});
