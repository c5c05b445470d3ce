import { expect, it } from "vitest";
import type { BootSpec } from "../../core/backend.js";
import { resolve } from "../../policy/resolve.js";
import { firstMessage } from "./first-message.js";

function boot(fields: Readonly<Record<string, unknown>>, own: Partial<BootSpec> = {}): BootSpec {
  const { policy } = resolve({ flags: [{ origin: "test", fields }] });
  const image = { kind: "layers", layers: ["/image"] } as const;
  return { id: "run-1", hostname: "run-1", policy, image, projectDir: null, homeDir: null, ...own };
}

const copied = { "fs.workspace.mode": "none" };

it("what a saved machine was told is the same for all who have the same policy", () => {
  const mine = boot(copied, {
    id: "run-a",
    hostname: "mine",
    trustedCertificate: "PEM",
    projectDir: "/home/me/secret",
  });
  const yours = boot(copied, { id: "run-b", hostname: "yours" });
  expect(firstMessage(mine, [])).toBe(firstMessage(yours, []));
  expect(firstMessage(mine, [])).not.toMatch(/mine|run-a|PEM|secret/);
});

it("another network, limit or wall is another machine", () => {
  const first = firstMessage(boot(copied), []);
  for (const more of [{ "net.egress": "off" }, { "resources.pids": 77 }, { "resources.diskMiB": 99 }]) {
    expect(firstMessage(boot({ ...copied, ...more }), [])).not.toBe(first);
  }
});

it("a guest waits inside its walls unless they depend on folders that come later", () => {
  const ahead = (spec: BootSpec, isReadonly: boolean) => {
    const view = { source: "/a", target: "/b", readonly: isReadonly, isSynced: false };
    return (JSON.parse(firstMessage(spec, [view])) as { readonly ahead: unknown }).ahead;
  };
  expect(ahead(boot(copied), false)).toMatchObject({ hostname: "sandbox", trees: [], readonly: [], listed: null });
  expect(ahead(boot(copied), true)).toBeNull();
  expect(ahead(boot({ ...copied, "proc.landlock": "workspace" }), false)).toBeNull();
});
