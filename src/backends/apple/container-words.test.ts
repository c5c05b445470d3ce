import { describe, expect, it } from "vitest";
import type { BootSpec } from "../../core/backend.js";
import { resolve } from "../../policy/resolve.js";
import { appleLayers, containerWords } from "./container-words.js";

type Fields = NonNullable<Parameters<typeof resolve>[0]["flags"]>[number]["fields"];

function bootOf(fields: Fields = {}): BootSpec {
  const { policy } = resolve({ flags: [{ origin: "test", fields: { "fs.workspace.mode": "none", ...fields } }] });
  const image = { kind: "engine", engine: "apple", id: "example/alpine:3" } as const;
  return { id: "run-1", hostname: "run-1", policy, image, projectDir: null, homeDir: null };
}

function wordsOf(fields: Fields = {}, more: Partial<BootSpec> = {}): readonly string[] {
  const labels = { "agentkernel.sandbox": "run-1" };
  return containerWords({ boot: { ...bootOf(fields), ...more }, views: [], labels, guestFolder: "/opt/guest" });
}

/** All values of an option. */
function valuesOf(words: readonly string[], option: string): readonly string[] {
  return words.flatMap((word, at) => (word === option ? [words[at + 1] ?? ""] : []));
}

describe("a policy as words", () => {
  it("has our name and labels, no network of the engine's, and our program as the first one", () => {
    const words = wordsOf({ "net.egress": "off" });
    expect(words[0]).toBe("run");
    expect(valuesOf(words, "--name")).toEqual(["agentkernel-run-1"]);
    expect(valuesOf(words, "--label")).toEqual(["agentkernel.sandbox=run-1"]);
    expect(valuesOf(words, "--network")).toEqual(["none"]);
    expect(words).toContain("--no-dns");
    expect(valuesOf(words, "--mount")).toEqual(["type=bind,source=/opt/guest,target=/.agentkernel,readonly"]);
    expect(valuesOf(words, "--entrypoint")).toEqual(["/.agentkernel/ak-entry"]);
    expect(words.slice(-2)).toEqual(["example/alpine:3", "boot"]);
  });

  it("holds memory, processors, open files and processes", () => {
    const words = wordsOf({
      "resources.memoryMiB": 512,
      "resources.vcpus": 2,
      "resources.pids": 64,
      "resources.openFiles": 128,
    });
    expect(valuesOf(words, "--memory")).toEqual(["512M"]);
    expect(valuesOf(words, "--cpus")).toEqual(["2"]);
    expect(valuesOf(words, "--ulimit")).toEqual(["nofile=128:128", "nproc=64:64"]);
  });

  it("drops all capabilities but those that the first program needs, NET_ADMIN only to capture the network", () => {
    const off = wordsOf({ "net.egress": "off" });
    expect(valuesOf(off, "--cap-drop")).toEqual(["ALL"]);
    expect(valuesOf(off, "--cap-add")).not.toContain("NET_ADMIN");
    const on = wordsOf({ "net.egress": "on" });
    expect(valuesOf(on, "--cap-add")).toContain("NET_ADMIN");
    expect(valuesOf(on, "--network")).toEqual(["none"]);
    expect(valuesOf(on, "--dns")).toEqual(["127.0.0.1"]);
  });

  it("makes a read-only root with temporary places where something is written before the guest starts", () => {
    expect(wordsOf({ "fs.rootReadonly": false })).not.toContain("--read-only");
    const words = wordsOf({ "fs.rootReadonly": true });
    expect(words).toContain("--read-only");
    expect(valuesOf(words, "--tmpfs")).toEqual(["/tmp", "/workspace", "/home/sandbox", "/etc/agentkernel"]);
  });

  it("refuses images that are not of Apple's store", () => {
    expect(() => wordsOf({}, { image: { kind: "host" } })).toThrow(/image host is not possible/);
    expect(() => wordsOf({}, { image: { kind: "layers", layers: ["/l"] } })).toThrow(/another store/);
  });
});

describe("the layers", () => {
  const stateOf = (fields: Fields, name: string) => appleLayers(bootOf(fields)).find((layer) => layer.name === name);

  it("say aloud what Apple's program cannot hold", () => {
    expect(stateOf({ "resources.vcpus": 1.5 }, "cpu limit")).toMatchObject({
      state: "partial",
      detail: expect.stringMatching(/2$/),
    });
    expect(stateOf({ "resources.vcpus": 2 }, "cpu limit")).toEqual({ name: "cpu limit", state: "applied" });
    expect(stateOf({ "proc.noRoot": false }, "process limit")).toMatchObject({ state: "partial" });
    expect(stateOf({ "proc.noRoot": true }, "process limit")).toMatchObject({ state: "applied" });
    expect(stateOf({ "fs.home": "readonly" }, "home")).toMatchObject({ state: "absent" });
    expect(stateOf({}, "disk limit")).toMatchObject({ state: "partial" });
  });
});
