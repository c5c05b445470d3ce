/** Which backends a run is started on, one after the other, where those before cannot be used on this machine. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { anyBackend } from "../core/backend-request.js";
import { AgentKernelError, type ErrorCode } from "../core/errors.js";
import { resolve } from "../policy/resolve.js";
import { engineCandidate } from "./backends/engine-candidate.js";
import { microvmCandidate } from "./backends/microvm-candidate.js";
import { working } from "./backends/proof.js";
import { recall, remember } from "./backends/proof-cache.js";
import type { RuntimeHost } from "./open-backend.js";
import { openSandbox } from "./open-run.js";
import type { ImageRequest } from "./root-image.js";
import { openRunAudit } from "./run-audit.js";
import { TemporarySandbox } from "./temporary-sandbox.js";

let folder: string;
let host: RuntimeHost;
let engine: Server;
/** As they were tried. */
let tried: string[];

/** A machine by hardware and an engine that has every image, both proven as far as is remembered. */
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "open-run-"));
  const [bin, kernel, socket] = [join(folder, "bin"), join(folder, "kernel"), join(folder, "podman.sock")];
  for (const each of [bin, kernel]) mkdirSync(each);
  const program = join(bin, "qemu-system-x86_64");
  writeFileSync(program, "#!/bin/false\n");
  chmodSync(program, 0o755);
  writeFileSync(join(kernel, "kernel"), "");
  const digests = { kernelSha256: "0".repeat(64), modulesSha256: null };
  const description = { version: 1, name: "none", acpi: false, commandLine: "quiet", ...digests };
  writeFileSync(join(kernel, "kernel.json"), JSON.stringify(description));
  engine = createServer((_, answer) => {
    answer.setHeader("content-type", "application/json");
    answer.end(JSON.stringify({ Id: `sha256:${"1".repeat(64)}`, Config: {}, RepoDigests: [] }));
  });
  await new Promise<void>((done) => engine.listen(socket, done));
  const places = { XDG_STATE_HOME: folder, XDG_CACHE_HOME: folder };
  const env = { ...places, PATH: bin, AGENTKERNEL_KERNEL: kernel, CONTAINER_HOST: `unix://${socket}` };
  host = { env, homeDir: folder, resident: null };
  const machine = working("by KVM", { kind: "qemu", program, accelerator: "kvm" });
  remember(host, "microvm", microvmCandidate.identity(host) ?? "none", machine);
  remember(host, "podman", engineCandidate("podman").identity(host) ?? "none", working("booted", { socket }));
  tried = [];
});
afterEach(async () => {
  vi.restoreAllMocks();
  engine.closeAllConnections();
  await new Promise((done) => engine.close(done));
  rmSync(folder, { recursive: true });
});

/** Makes these backends fail to start, and records what was tried. */
function refuse(refused: readonly string[], code: ErrorCode = "backend_unavailable"): void {
  vi.spyOn(TemporarySandbox, "start").mockImplementation(async ({ name }) => {
    tried.push(name);
    if (refused.includes(name)) throw new AgentKernelError(code, `no namespaces for ${name}`);
    return { backend: name, layers: [], isWarm: false } as unknown as TemporarySandbox;
  });
}

async function open(image: Partial<ImageRequest>) {
  const { policy, origins } = resolve({
    flags: [{ origin: "the test", fields: { "fs.workspace.mode": "none", "net.egress": "off" } }],
  });
  const request = {
    ...{ module: null, argv: ["true"], backend: anyBackend, policy, origins, audit: {}, projectDir: null },
    ...{ homeDir: null, workdir: null, hostEnv: { AGENTKERNEL_AUDIT: "off" }, publish: [], ask: false, tty: false },
    ...{ json: false, notes: [] },
    image: { name: "example.invalid/nothing:1", why: "the test", named: false, ...image },
    imageSettings: { projectDir: folder, storeRoot: join(folder, "store"), env: host.env, pull: "never" as const },
  } as unknown as Parameters<typeof openSandbox>[0];
  const audit = openRunAudit("run-1", request, host);
  return await openSandbox(request, { host, audit });
}

describe.runIf(process.platform === "linux" && process.arch === "x64")("a run for which no backend is named", () => {
  it("gets an engine where neither a machine nor namespaces can be used, and that is remembered", async () => {
    refuse(["microvm", "linux"]);
    // A folder is nothing that an engine could run, which only the engine says.
    await expect(open({ name: folder, named: true })).rejects.toMatchObject({ code: "unsupported" });
    expect(tried).toEqual(["microvm", "linux"]);
    expect(recall(host, "linux", "")).toMatchObject({ works: false, detail: "no namespaces for linux" });
  });

  it("gets an engine where its image had moved it from a machine to namespaces", async () => {
    refuse(["linux"]);
    const { sandbox, image } = await open({});
    expect(tried).toEqual(["linux", "podman"]);
    expect(sandbox.backend).toBe("podman");
    expect(image).toMatchObject({ source: { kind: "engine", engine: "podman" } });
    expect(image.notes).toEqual([expect.stringContaining("not in a virtual machine")]);
  });

  it("gets the engine's own image where namespaces are known not to work", async () => {
    refuse(["linux"]);
    await open({});
    tried = [];
    expect((await open({})).image).toMatchObject({ source: { kind: "engine", engine: "podman" } });
    expect(tried).toEqual(["podman"]);
  });

  it("tries each once where none can be used", async () => {
    refuse(["microvm", "linux", "podman"]);
    await expect(open({})).rejects.toMatchObject({ message: "no namespaces for podman" });
    expect(tried).toEqual(["linux", "podman"]);
  });

  it("stays where it failed for any other reason", async () => {
    refuse(["microvm"], "sandbox_start_failed");
    await expect(open({ name: folder, named: true })).rejects.toMatchObject({ code: "sandbox_start_failed" });
    expect(tried).toEqual(["microvm"]);
  });
});
