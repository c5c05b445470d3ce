import { describe, expect, it } from "vitest";
import type { BackendRequest } from "../core/backend-request.js";
import type { Policy } from "../core/policy.js";
import { resolve } from "../policy/resolve.js";
import { type Arguments, refuseOtherUser, refuseWider } from "./held-to-configuration.js";
import type { Call } from "./tool.js";

const usual = resolve({ flags: [{ origin: "--network", fields: { "net.egress": "allowlist" } }] }).policy;
const on = (policy: Policy, name: BackendRequest["name"] = "auto") => ({
  policy,
  backend: { name, origin: "default" },
});
const allowing = (domains: readonly string[]) =>
  on({ ...usual, net: { ...usual.net, allow: domains.map((domain) => ({ domain })) } });
const asked = (domains: readonly string[]) => ({ network: { enabled: true, allowed_domains: domains } });
const nobody: Pick<Call, "confirm"> = { confirm: null };

describe("what is wider than the configuration", () => {
  it("is put to the user in full, or refused where it is too long to be read", async () => {
    const questions: string[] = [];
    const confirm = async (question: string) => {
      questions.push(question);
      return true;
    };
    await refuseWider(asked(["a.example"]), allowing(["a.example"]), on(usual), { confirm });
    expect(questions).toMatchObject([expect.stringContaining("a.example")]);
    const many = Array.from({ length: 200 }, (_, index) => `host-${index}.example`);
    await expect(refuseWider(asked(many), allowing(many), on(usual), { confirm })).rejects.toMatchObject({
      code: "policy_denied",
    });
    expect(questions).toHaveLength(1);
  });

  it("is refused where the question cannot be put", async () => {
    const confirm = () => Promise.reject(new Error("the client is gone"));
    await expect(
      refuseWider(asked(["a.example"]), allowing(["a.example"]), on(usual), { confirm }),
    ).rejects.toMatchObject({ code: "policy_denied", message: expect.stringContaining("could not be put") });
  });

  it.each(["sync", "mount"] as const)("is a mode's own way to treat the project, too: %s", async (mode) => {
    const claude = { compatibility_mode: "claude" } as const;
    const wanted = on({ ...usual, fs: { ...usual.fs, workspace: { mode, readonly: false } } });
    await expect(refuseWider(claude, wanted, on(usual), nobody)).rejects.toMatchObject({
      code: "policy_denied",
      message: expect.stringContaining(`fs.workspace.mode "${mode}" instead of "copy"`),
      hint: expect.stringContaining("agentkernel mcp server --compatibility-mode claude"),
      details: { field: "compatibility_mode" },
    });
    await refuseWider(claude, wanted, wanted, nobody);
  });

  it.each([
    ["linux", "gvisor", false],
    ["auto", "gvisor", false],
    ["linux", "auto", false],
    ["wasm", "gvisor", true],
    ["wasm", "auto", true],
    ["auto", "linux", true],
  ] as const)("may be a weaker backend: %s instead of %s", async (name, users, isFine) => {
    const refused = refuseWider({ backend: "linux" }, on(usual, name), on(usual, users), nobody).then(
      () => null,
      (error: { readonly details: object }) => error.details,
    );
    expect(await refused).toEqual(isFine ? null : { field: "backend" });
  });

  it.each([
    ["resources.memory_mb = 4096 in", { resources: { memory_mb: 4096 } }, { memoryMiB: 4096 }],
    ["resources.vcpus = 64 in", { resources: { vcpus: 64 } }, { vcpus: 64 }],
  ] as const)("says what would give it: %s", async (line, args: Arguments, more) => {
    const wanted = on({ ...usual, resources: { ...usual.resources, ...more } });
    await expect(refuseWider(args, wanted, on(usual), nobody)).rejects.toMatchObject({
      hint: expect.stringContaining(line),
      details: { field: "resources" },
    });
  });
});

it("a command runs as the user that its sandbox was made for, and as no other", () => {
  const madeFor = (user: string | null) => ({ ...usual, proc: { ...usual.proc, user } });
  const denied = expect.objectContaining({ code: "policy_denied", details: { field: "user" } });
  for (const other of ["0", "root", "1001", "1000:0"]) {
    expect(() => refuseOtherUser(other, madeFor("1000"))).toThrow(denied);
  }
  refuseOtherUser("1000", madeFor("1000"));
  refuseOtherUser(undefined, madeFor("1000"));
  refuseOtherUser("1000", madeFor("0"));
  refuseOtherUser("root", madeFor(null));
});
