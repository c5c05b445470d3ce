import { describe, expect, it } from "vitest";
import { parseSource } from "./source.js";

describe("a source", () => {
  it.each([
    ["-", { kind: "stdin" }],
    ["app.tar", { kind: "path", path: "app.tar" }],
    ["./a:b.tar", { kind: "path", path: "./a:b.tar" }],
    ["docker-archive:/a/b.tar", { kind: "docker-archive", path: "/a/b.tar", name: null }],
    ["docker-archive:b.tar:app:1", { kind: "docker-archive", path: "b.tar", name: "app:1" }],
    ["oci-archive:b.tar:one", { kind: "oci-archive", path: "b.tar", name: "one" }],
    ["oci:dir", { kind: "oci-layout", path: "dir", name: null }],
    ["dir:x", { kind: "dir-folder", path: "x" }],
    ["rootfs:x", { kind: "rootfs", path: "x" }],
    ["docker-daemon:app:1", { kind: "docker-engine", name: "app:1" }],
    ["podman:localhost/app:1", { kind: "podman-engine", name: "localhost/app:1" }],
    ["containers-storage:app", { kind: "podman-engine", name: "app" }],
  ])("%s is understood", (text, source) => {
    expect(parseSource(text)).toEqual(source);
  });

  it.each([
    "",
    "oci:",
    "docker-archive::x",
    "docker-daemon:",
    "podman:--help",
    "podman:a b",
    "docker-daemon:../x y",
    "a\0b",
  ])("%j is refused", (text) => {
    expect(() => parseSource(text)).toThrow(/cannot be imported/);
  });

  it("of a registry is to be pulled", () => {
    expect(() => parseSource("docker://alpine:3")).toThrow(
      expect.objectContaining({ hint: "agentkernel images pull alpine:3" }),
    );
  });
});
