import { expect, test } from "vitest";
import type { BootSpec } from "../../core/backend.js";
import type { PolicyFields } from "../../policy/fields.js";
import { resolve } from "../../policy/resolve.js";
import { copiedViews, liveViews, trackedView } from "../entry/views.js";
import { containerSpec } from "./container-spec.js";
import { partOf, pullQuery } from "./images.js";
import { seccompProfile } from "./seccomp-profile.js";

function boot(fields: PolicyFields): BootSpec {
  const { policy } = resolve({ flags: [{ origin: "the test", fields: { "fs.workspace.mode": "none", ...fields } }] });
  const image = { kind: "engine", engine: "docker", id: "sha256:1" } as const;
  return { id: "run-1", hostname: "run-1", policy, image, projectDir: "/", homeDir: null };
}

function specOf(fields: PolicyFields, isKept = false): Readonly<Record<string, unknown>> {
  const programs = { entryBinary: "/e", guestBinary: "/g" };
  const arranged = { "default-arranged": "the usual, arranged", "strict-arranged": "the strict, arranged" };
  const seccomp = { default: "the usual", strict: "the strict", ...arranged };
  const files = { hosts: "/hosts", captured: "/captured", offline: "/offline", mountPoints: "/mount-points", seccomp };
  const live = liveViews(boot(fields));
  const parts = { boot: boot(fields), views: [], live, labels: {}, programs, files, maxProcesses: null, isKept };
  return Reflect.get(containerSpec(parts), "HostConfig") as Readonly<Record<string, unknown>>;
}

test("no container has a network of the engine's, more rights than it needs, or a log", () => {
  expect(specOf({ "net.egress": "on" })).toMatchObject({
    NetworkMode: "none",
    CapDrop: ["ALL"],
    AutoRemove: true,
    LogConfig: { Type: "none" },
    SecurityOpt: ["no-new-privileges", "seccomp=the usual"],
  });
});

test("only a sandbox with a network may set one up, until its guest starts", () => {
  expect(specOf({ "net.egress": "on" }).CapAdd).toContain("NET_ADMIN");
  expect(specOf({ "net.egress": "off" }).CapAdd).not.toContain("NET_ADMIN");
});

test("limits are the engine's to hold", () => {
  const fields = {
    "resources.memoryMiB": 256,
    "resources.vcpus": 1.5,
    "resources.pids": 40,
    "resources.openFiles": 64,
  };
  expect(specOf(fields)).toMatchObject({
    Memory: 256 << 20,
    MemorySwap: 256 << 20,
    NanoCpus: 1.5e9,
    PidsLimit: 40,
    Ulimits: [{ Name: "nofile", Soft: 64, Hard: 64 }],
  });
});

test("a read-only root has its temporary places, and files of /etc that nobody in it can change", () => {
  const { ReadonlyRootfs, Tmpfs, Binds } = specOf({ "fs.rootReadonly": true, "net.egress": "on" });
  expect(ReadonlyRootfs).toBe(true);
  expect(Object.keys(Tmpfs as object)).toEqual([
    ...["/tmp", "/dev/shm", "/workspace", "/home/sandbox", "/etc/agentkernel"],
  ]);
  expect(Binds).toEqual(expect.arrayContaining(["/hosts:/etc/hosts:ro", "/captured:/etc/resolv.conf:ro"]));
});

test("what a kept sandbox writes is not in memory, and the engine does not remove it", () => {
  const { AutoRemove, Tmpfs } = specOf({}, true);
  expect([AutoRemove, Object.keys(Tmpfs as object)]).toEqual([false, ["/tmp", "/dev/shm"]]);
});

test("only where something is shown live may the first program arrange mounts, and nothing is copied over it", () => {
  const fields: PolicyFields = {
    "fs.workspace.mode": "mount",
    "fs.mounts": [{ host: "/usr", guest: "/workspace/deps", readonly: true }],
  };
  const { CapAdd, Mounts, SecurityOpt } = specOf(fields);
  expect(CapAdd).toEqual(expect.arrayContaining(["SYS_ADMIN", "MKNOD"]));
  expect(SecurityOpt).toContain("seccomp=the usual, arranged");
  expect(Mounts).toMatchObject([{ Source: "/" }, { Source: "/usr" }]);
  expect(copiedViews(boot(fields))).toEqual([]);
  const usual = specOf({ "fs.workspace.mode": "copy", "fs.mounts": fields["fs.mounts"] ?? [] });
  expect([usual.Mounts, usual.CapAdd]).toEqual([[], expect.not.arrayContaining(["SYS_ADMIN"])]);
  const calls = (choice: "default" | "default-arranged") => seccompProfile(choice).split('"');
  expect(calls("default")).toContain("move_mount");
  expect(calls("default-arranged")).not.toContain("move_mount");
  expect(calls("default-arranged")).toContain("mount");
});

test("what a project was is noted where its changes are asked for later", () => {
  const tracked = (mode: "copy" | "sync", isKept: boolean) =>
    trackedView(copiedViews(boot({ "fs.workspace.mode": mode })), isKept)?.target ?? null;
  expect([tracked("copy", false), tracked("copy", true)]).toEqual([null, "/workspace"]);
  expect([tracked("sync", false), tracked("sync", true)]).toEqual(["/workspace", "/workspace"]);
});

test("the engine's list of calls is the linux backend's", () => {
  const { defaultAction, syscalls } = JSON.parse(seccompProfile("default")) as {
    readonly defaultAction: string;
    readonly syscalls: readonly { readonly names: readonly string[]; readonly action: string }[];
  };
  expect([defaultAction, syscalls[0]?.action]).toEqual(["SCMP_ACT_ALLOW", "SCMP_ACT_ERRNO"]);
  expect(syscalls[0]?.names).toEqual(expect.arrayContaining(["mount", "bpf", "keyctl", "io_uring_setup"]));
  expect(seccompProfile("strict").length).toBeGreaterThan(seccompProfile("default").length);
});

test("a pull names one image, and tells of its parts", () => {
  expect(pullQuery("alpine")).toEqual({ fromImage: "alpine:latest" });
  expect(pullQuery("registry.example:5000/team/app:1")).toEqual({ fromImage: "registry.example:5000/team/app:1" });
  expect(pullQuery("registry.example:5000/team/app")).toEqual({ fromImage: "registry.example:5000/team/app:latest" });
  expect(partOf({ id: "a", progressDetail: { current: 1, total: 3 } })).toEqual({
    id: "a",
    doneBytes: 1,
    totalBytes: 3,
  });
  expect(partOf({ status: "Pulling", progressDetail: {} })).toBeNull();
});
