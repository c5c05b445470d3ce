import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import type { BootSpec } from "../../core/backend.js";
import { AgentKernelError } from "../../core/errors.js";
import type { PolicyFields } from "../../policy/fields.js";
import { resolve } from "../../policy/resolve.js";
import { copiedAsFarAsPossible, isRefusal, ShowingViews } from "./shown-views.js";

const folder = mkdtempSync(join(tmpdir(), "shown-views-"));
afterAll(() => rmSync(folder, { recursive: true }));

function boot(fields: PolicyFields, projectDir = folder): BootSpec {
  const { policy } = resolve({ flags: [{ origin: "the test", fields }] });
  const image = { kind: "engine", engine: "docker", id: "sha256:1" } as const;
  return { id: "run-1", hostname: "run-1", policy, image, projectDir, homeDir: null };
}

const kinds = (views: ReturnType<typeof copiedAsFarAsPossible>) => [
  views.copied.map(({ target }) => target),
  views.live.map(({ target }) => target),
];

test("a temporary project is shown; what is told from later, and what stays, is copied", () => {
  const views = new ShowingViews(join(folder, "none"));
  expect(kinds(views.of(boot({ "fs.workspace.mode": "copy" }), false))).toEqual([[], ["/workspace"]]);
  expect(kinds(views.of(boot({ "fs.workspace.mode": "sync" }), false))).toEqual([["/workspace"], []]);
  expect(kinds(views.of(boot({ "fs.workspace.mode": "copy" }), true))).toEqual([["/workspace"], []]);
});

test("a file has no mount point in a root that cannot be written, so that all is copied", () => {
  const mounts = [{ host: "/etc/hosts", guest: "/hosts", readonly: true }];
  const fields: PolicyFields = { "fs.workspace.mode": "copy", "fs.rootReadonly": true, "fs.mounts": mounts };
  expect(kinds(new ShowingViews(join(folder, "none")).of(boot(fields), false))).toEqual([["/workspace", "/hosts"], []]);
});

test("a refusal is remembered by the next process, with its reason, and holds for that file system alone", () => {
  const spec = boot({ "fs.workspace.mode": "copy" });
  new ShowingViews(folder).refuse(spec, new AgentKernelError("unsupported", "no mounts here"));
  const later = new ShowingViews(folder);
  expect(later.refusal(spec)).toBe("no mounts here");
  expect(kinds(later.of(spec, false))).toEqual([["/workspace"], []]);
  expect(later.refusal(boot({ "fs.workspace.mode": "copy" }, "/proc"))).toBeNull();
});

test("only a failure that a copy can do without is a refusal", () => {
  const shown = new ShowingViews(join(folder, "none")).of(boot({ "fs.workspace.mode": "copy" }), false);
  const failed = (code: "unsupported" | "sandbox_start_failed" | "invalid_argument") =>
    new AgentKernelError(code, "no");
  expect([isRefusal(shown, failed("unsupported")), isRefusal(shown, failed("sandbox_start_failed"))]).toEqual([
    true,
    true,
  ]);
  expect(isRefusal(shown, failed("invalid_argument"))).toBe(false);
  const copied = copiedAsFarAsPossible(boot({ "fs.workspace.mode": "copy" }));
  expect(isRefusal(copied, failed("unsupported"))).toBe(false);
});
