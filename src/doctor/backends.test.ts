import { describe, expect, it } from "vitest";
import { judgeBackends } from "./backends.js";
import { type Check, layerNames } from "./report.js";

function checksWith(changes: Partial<Record<Check["name"], Check["state"]>>): readonly Check[] {
  return [...layerNames, "guest" as const].map((name) => ({
    name,
    state: changes[name] ?? "works",
    detail: "",
    nextStep: null,
    ms: 1,
  }));
}

function linuxWith(changes: Partial<Record<Check["name"], Check["state"]>>) {
  return judgeBackends(checksWith(changes)).find(({ name }) => name === "linux");
}

describe("judgeBackends", () => {
  it("finds linux usable without weakness where everything works", () => {
    expect(linuxWith({})).toMatchObject({ usable: true, missing: [], weaker: [] });
  });

  it.each(["userns", "mountns-proc", "overlay", "netns", "seccomp", "guest"] as const)(
    "finds linux unusable without %s",
    (name) => {
      expect(linuxWith({ [name]: "fails" })).toMatchObject({ usable: false, missing: [name] });
    },
  );

  it.each(["subids", "idmap", "redirect", "landlock", "cgroup"] as const)("finds linux weaker without %s", (layer) => {
    const linux = linuxWith({ [layer]: "fails" });
    expect(linux).toMatchObject({ usable: true, weaker: [{ layer }] });
    expect(linux?.detail).toContain(layer);
  });

  it("finds no weakness in a layer that is not needed", () => {
    expect(linuxWith({ idmap: "not-needed" })).toMatchObject({ usable: true, weaker: [] });
  });

  it("does not count a layer that nobody reported as working", () => {
    expect(judgeBackends([]).every(({ usable }) => !usable)).toBe(true);
  });
});
