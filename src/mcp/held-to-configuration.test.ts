import { describe, expect, it } from "vitest";
import { resolve } from "../policy/resolve.js";
import { refuseWider } from "./held-to-configuration.js";

const usual = resolve({ flags: [{ origin: "--network", fields: { "net.egress": "allowlist" } }] }).policy;
const allowing = (domains: readonly string[]) => ({
  ...usual,
  net: { ...usual.net, allow: domains.map((domain) => ({ domain })) },
});
const asked = (domains: readonly string[]) => ({ network: { enabled: true, allowed_domains: domains } });

describe("what is wider than the configuration", () => {
  it("is put to the user in full, or refused where it is too long to be read", async () => {
    const questions: string[] = [];
    const confirm = async (question: string) => {
      questions.push(question);
      return true;
    };
    await refuseWider(asked(["a.example"]), allowing(["a.example"]), usual, { confirm });
    expect(questions).toMatchObject([expect.stringContaining("a.example")]);
    const many = Array.from({ length: 200 }, (_, index) => `host-${index}.example`);
    await expect(refuseWider(asked(many), allowing(many), usual, { confirm })).rejects.toMatchObject({
      code: "policy_denied",
    });
    expect(questions).toHaveLength(1);
  });

  it("is refused where the question cannot be put", async () => {
    const confirm = () => Promise.reject(new Error("the client is gone"));
    await expect(refuseWider(asked(["a.example"]), allowing(["a.example"]), usual, { confirm })).rejects.toMatchObject({
      code: "policy_denied",
      message: expect.stringContaining("could not be put"),
    });
  });

  it("may be the carrying over of a mode, and not the live folder", async () => {
    const sync = (mode: "sync" | "mount") => ({
      ...usual,
      fs: { ...usual.fs, workspace: { mode, readonly: false } },
    });
    const claude = { compatibility_mode: "claude" } as const;
    await refuseWider(claude, sync("sync"), usual, { confirm: null });
    await expect(refuseWider(claude, sync("mount"), usual, { confirm: null })).rejects.toMatchObject({
      code: "policy_denied",
    });
  });
});
