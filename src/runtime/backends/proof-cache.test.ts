import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { failing, working } from "./proof.js";
import { recall, remember } from "./proof-cache.js";

const HOUR_MS = 3_600_000;
const now = Date.UTC(2030, 0, 1);
const proof = working("booted", { platform: "ptrace" });

let folder: string;
const place = () => ({ env: { XDG_STATE_HOME: folder }, homeDir: folder });
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "proofs-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe("a remembered proof", () => {
  it("is had again for the same engine", () => {
    remember(place(), "gvisor", "runsc:1", proof, now);
    expect(recall(place(), "gvisor", "runsc:1", now + 1)).toEqual(proof);
    expect(recall(place(), "docker", "runsc:1", now + 1)).toBeNull();
  });

  it("says nothing of another engine, a later day, or a clock that went back", () => {
    remember(place(), "gvisor", "runsc:1", proof, now);
    expect(recall(place(), "gvisor", "runsc:2", now + 1)).toBeNull();
    expect(recall(place(), "gvisor", "runsc:1", now + 25 * HOUR_MS)).toBeNull();
    expect(recall(place(), "gvisor", "runsc:1", now - 1)).toBeNull();
  });

  it("of a failure is soon looked at again", () => {
    remember(place(), "gvisor", "runsc:1", failing("no", "install it"), now);
    expect(recall(place(), "gvisor", "runsc:1", now + 60_000)?.nextStep).toBe("install it");
    expect(recall(place(), "gvisor", "runsc:1", now + HOUR_MS)).toBeNull();
  });

  it.each(["", "{", "[]", '{"key":1}', '{"key":"","atMs":1,"proof":{"works":"yes"}}'])(
    "in a file that holds %j is none",
    (text) => {
      remember(place(), "gvisor", "runsc:1", proof, now);
      const [file = ""] = readdirSync(join(folder, "agentkernel", "proofs"));
      writeFileSync(join(folder, "agentkernel", "proofs", file), text);
      expect(recall(place(), "gvisor", "runsc:1", now)).toBeNull();
    },
  );
});
