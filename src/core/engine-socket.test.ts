import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { engineSocket } from "./engine-socket.js";

const home = mkdtempSync(join(tmpdir(), "engine-socket-"));
afterAll(() => rmSync(home, { recursive: true }));

function context(name: string, host: string): void {
  const folder = join(home, ".docker", "contexts", "meta", createHash("sha256").update(name).digest("hex"));
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "meta.json"), JSON.stringify({ Name: name, Endpoints: { docker: { Host: host } } }));
}

describe("where an engine listens", () => {
  test("a variable that names a socket wins", () => {
    expect(engineSocket("docker", { DOCKER_HOST: "unix:///a/docker.sock", DOCKER_CONTEXT: "x" })).toBe(
      "/a/docker.sock",
    );
    expect(engineSocket("podman", { CONTAINER_HOST: "unix:///a/podman.sock" })).toBe("/a/podman.sock");
  });

  test("an engine on another machine is refused", () => {
    expect(() => engineSocket("docker", { DOCKER_HOST: "tcp://192.0.2.1:2375" })).toThrow("not on this machine");
  });

  test("a Docker context is followed, by the user's choice or by a variable", () => {
    context("desktop", "unix:///b/docker.sock");
    context("far", "ssh://user@host.example");
    expect(engineSocket("docker", { HOME: home, DOCKER_CONTEXT: "desktop" })).toBe("/b/docker.sock");
    writeFileSync(join(home, ".docker", "config.json"), '{"currentContext":"desktop"}');
    expect(engineSocket("docker", { HOME: home })).toBe("/b/docker.sock");
    expect(() => engineSocket("docker", { HOME: home, DOCKER_CONTEXT: "far" })).toThrow("not on this machine");
    expect(() => engineSocket("docker", { HOME: home, DOCKER_CONTEXT: "gone" })).toThrow("cannot be read");
  });

  test("a rootless engine's own socket comes before the machine's", () => {
    mkdirSync(join(home, "run", "podman"), { recursive: true });
    writeFileSync(join(home, "run", "podman", "podman.sock"), "");
    expect(engineSocket("podman", { XDG_RUNTIME_DIR: join(home, "run") })).toBe(join(home, "run/podman/podman.sock"));
  });
});
