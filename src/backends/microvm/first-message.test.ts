import { expect, it } from "vitest";
import type { BootSpec } from "../../core/backend.js";
import { resolve } from "../../policy/resolve.js";
import { firstMessage, waitsInside } from "./first-message.js";
import type { MonitorKind } from "./monitor.js";

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
  const text = firstMessage(mine, [], "qemu");
  expect(text).toBe(firstMessage(yours, [], "qemu"));
  expect(text).not.toMatch(/mine|run-a|PEM|secret/);
});

it("another network, limit or wall is another machine", () => {
  const text = firstMessage(boot(copied), [], "qemu");
  for (const more of [{ "net.egress": "off" }, { "resources.pids": 77 }, { "resources.diskMiB": 99 }]) {
    expect(firstMessage(boot({ ...copied, ...more }), [], "qemu")).not.toBe(text);
  }
});

it("a guest waits inside its walls unless they depend on folders that come later", () => {
  const first = (spec: BootSpec, isReadonly: boolean, kind: MonitorKind = "qemu") => {
    const view = { source: "/a", target: "/b", readonly: isReadonly, isSynced: false };
    const text = firstMessage(spec, [view], kind);
    return { inside: waitsInside(text), ahead: (JSON.parse(text) as { readonly ahead: unknown }).ahead };
  };
  const orderAhead = { hostname: "run-000000000000", trees: [], readonly: [], listed: null };
  expect(first(boot(copied), false)).toMatchObject({ inside: true, ahead: orderAhead });
  const later = { inside: false, ahead: null };
  expect(first(boot(copied), true)).toEqual(later);
  expect(first(boot({ ...copied, "proc.landlock": "workspace" }), false)).toEqual(later);
  expect(first(boot(copied), false, "firecracker")).toEqual(later);
  expect(waitsInside(firstMessage(boot(copied), [], "qemu", true))).toBe(false);
});
