import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { anyBackend, type BackendRequest } from "../../core/backend-request.js";
import { AgentKernelError } from "../../core/errors.js";
import { resolve } from "../../policy/resolve.js";
import type { RuntimeHost } from "../open-backend.js";
import { automaticOrder, candidateNames } from "./candidates.js";
import { chooseAnother, chooseBackend } from "./choose.js";
import { failing, working } from "./proof.js";
import { recall } from "./proof-cache.js";
import { proofOf } from "./proof-of.js";

let folder: string;
const host = (env: Record<string, string> = {}): RuntimeHost => ({
  env: { XDG_STATE_HOME: folder, ...env },
  homeDir: folder,
  resident: null,
});
const { policy } = resolve({});
const wanted = (backend: BackendRequest) => ({ backend, policy, homeDir: null });
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "choose-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe("the automatic order", () => {
  it("is that of the documentation, and has neither gvisor nor wasm in it", () => {
    expect(automaticOrder("linux")).toEqual(["microvm", "linux", "podman", "docker"]);
    expect(automaticOrder("darwin")).toEqual(["apple", "docker", "podman"]);
    expect(candidateNames).toContain("gvisor");
  });
});

describe("a backend that is named", () => {
  it("is refused with what to do where this version has none", async () => {
    const refused = chooseBackend(host(), wanted({ name: "kubernetes", origin: "--backend" }));
    await expect(refused).rejects.toMatchObject({ code: "backend_unavailable", hint: expect.stringMatching(/./) });
  });

  it("is refused with why, and what to do, where it does not work", async () => {
    const absent = host({ AGENTKERNEL_RUNSC: "not/absolute" });
    await expect(chooseBackend(absent, wanted({ name: "gvisor", origin: "--backend" }))).rejects.toMatchObject({
      code: "backend_unavailable",
      message: expect.stringContaining("no runsc"),
      hint: expect.stringContaining("install"),
    });
  });
});

describe("without a name", () => {
  const refusal = new AgentKernelError("backend_unavailable", "no namespaces here", { hint: "sysctl" });

  it("namespaces are used, and that they do not work is remembered", async () => {
    const linux = await chooseBackend(host(), wanted(anyBackend));
    expect(linux).toMatchObject({ backend: { name: "linux" }, notes: [], why: expect.stringContaining("auto") });
    await chooseAnother(host(), anyBackend, linux, refusal).catch(() => null);
    expect(recall(host(), "linux", "")).toMatchObject({ works: false, detail: "no namespaces here" });
  });

  it("an error that says nothing of the machine changes nothing", async () => {
    const linux = await chooseBackend(host(), wanted(anyBackend));
    const other = new AgentKernelError("sandbox_start_failed", "killed");
    expect(await chooseAnother(host(), anyBackend, linux, other)).toBeNull();
    expect(await chooseAnother(host(), { name: "linux", origin: "--backend" }, linux, refusal)).toBeNull();
    expect(recall(host(), "linux", "")).toBeNull();
  });
});

describe("a proof", () => {
  it("is made once for an engine, and again for another or when it is asked for", async () => {
    let made = 0;
    let identity = "one";
    const candidate = {
      lacks: [],
      identity: () => identity,
      prove: async () => working(`proof ${++made}`),
      open: () => {
        throw new Error("never opened");
      },
    };
    const ask = async (isFresh = false) => (await proofOf(host(), "gvisor", candidate, { isFresh })).detail;
    expect([await ask(), await ask()]).toEqual(["proof 1", "proof 1"]);
    expect(await ask(true)).toBe("proof 2");
    identity = "another";
    expect(await ask()).toBe("proof 3");
  });
});

describe("a proof that takes long", () => {
  const slow = {
    lacks: [],
    identity: () => "slow",
    open: () => {
      throw new Error("it is not opened");
    },
    prove: (_: RuntimeHost, signal?: AbortSignal) =>
      new Promise<never>((_resolve, reject) => {
        signal?.addEventListener("abort", () => reject(signal.reason));
      }),
  };

  it("is a failure with what to do, and is asked for again", async () => {
    const proof = await proofOf(host(), "microvm", slow, { patienceMs: 1 });
    expect(proof).toMatchObject({ works: false, nextStep: expect.stringContaining("try again") });
    expect(recall(host(), "microvm", "slow")).toBeNull();
  });

  it("is no failure of the backend where that is what was told because its time was up", async () => {
    const telling = {
      ...slow,
      prove: (_: RuntimeHost, signal?: AbortSignal) =>
        new Promise<ReturnType<typeof failing>>((resolve) => {
          signal?.addEventListener("abort", () => resolve(failing("no answer in time", null)));
        }),
    };
    const called = new AbortController();
    const proof = proofOf(host(), "gvisor", telling, { signal: called.signal });
    called.abort(new Error("the run's time is up"));
    await expect(proof).rejects.toMatchObject({ message: "the run's time is up" });
    expect(await proofOf(host(), "gvisor", telling, { patienceMs: 1 })).toMatchObject({ isInconclusive: true });
    expect(recall(host(), "gvisor", "slow")).toBeNull();
  });

  it("and was called off is none", async () => {
    const called = new AbortController();
    const proof = proofOf(host(), "microvm", slow, { signal: called.signal });
    called.abort(new Error("enough"));
    await expect(proof).rejects.toMatchObject({ message: "enough" });
  });
});
