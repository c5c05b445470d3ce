import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { checkOwnFiles } from "./own-files.js";

const digest = (text: string) => createHash("sha256").update(text).digest("hex");

describe("our own files", () => {
  let dist = "";
  beforeEach(() => {
    dist = mkdtempSync(join(tmpdir(), "agentkernel-own-"));
    writeFileSync(join(dist, "entry.js"), "entry");
    writeFileSync(join(dist, "ak-jail"), "jail");
    const native = { "linux-x64": { "ak-jail": digest("jail") }, "linux-arm64": { "ak-jail": digest("other") } };
    writeFileSync(join(dist, "digests.json"), JSON.stringify({ files: { "entry.js": digest("entry") }, native }));
  });
  afterEach(() => rmSync(dist, { recursive: true }));
  const check = () => checkOwnFiles({ dist, platform: "linux-x64", nativePath: (name) => join(dist, name) });

  it("are those of the release, for this machine", async () => {
    expect(await check()).toEqual({ checked: 2, wrong: [] });
  });

  it("that were changed or are missing are named", async () => {
    writeFileSync(join(dist, "ak-jail"), "jail!");
    rmSync(join(dist, "entry.js"));
    expect(await check()).toEqual({ checked: 2, wrong: [join(dist, "entry.js"), join(dist, "ak-jail")] });
  });

  it("have no digests in a checkout, and damaged ones are an error", async () => {
    writeFileSync(join(dist, "digests.json"), "{");
    await expect(check()).rejects.toMatchObject({ code: "digest_mismatch" });
    rmSync(join(dist, "digests.json"));
    expect(await check()).toBeNull();
  });
});
