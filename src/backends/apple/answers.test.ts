import { describe, expect, it } from "vitest";
import { containersOf, imageOf, networksOf, versionOf } from "./answers.js";

describe("what `container` answers", () => {
  it("gives containers with their labels, where the state is a word and where it is an object", () => {
    const labels = { "agentkernel.kind": "run" };
    const old = { status: "running", networks: [], configuration: { id: "a", labels } };
    const recent = { id: "b", status: { state: "stopped", networks: [] }, configuration: { labels, other: 1 } };
    expect(containersOf([old, recent])).toEqual([
      { id: "a", labels, isRunning: true },
      { id: "b", labels, isRunning: false },
    ]);
  });

  it("is refused where it is not as documented: nothing is taken for no containers", () => {
    for (const answer of [null, {}, "[]", [{}], [{ configuration: { id: 1 } }]]) {
      expect(() => containersOf(answer)).toThrow(/not as documented/);
    }
  });

  it("says how many networks there are, wherever it says so, and never none for an answer that is silent", () => {
    expect(networksOf([{ networks: [], configuration: { networks: [] } }])).toBe(0);
    expect(networksOf([{ networks: [], configuration: { networks: [{ network: "default" }] } }])).toBe(1);
    expect(networksOf([{ status: { networks: [{ network: "default" }] } }])).toBe(1);
    for (const answer of [null, [], [{}], [{ networks: {} }], {}]) expect(networksOf(answer)).toBeNull();
  });

  it("tells its version as one program or as a list of them", () => {
    expect(versionOf({ version: "0.9.0", server: {} })).toBe("0.9.0");
    expect(versionOf([{ version: "1.2.3" }, { version: "container-apiserver version 1.2.3 (build: release)" }])).toBe(
      "1.2.3",
    );
    expect([versionOf([]), versionOf({ version: "unspecified" }), versionOf(null)]).toEqual([null, null, null]);
  });

  it("gives an image's own settings for one architecture, and null for one that it was not made for", () => {
    const config = { Env: ["A=1"], Entrypoint: ["/e"], Cmd: ["c"], WorkingDir: "/w", User: "" };
    const variant = { platform: { os: "linux", architecture: "arm64" }, config: { config } };
    const answer = [{ name: "i", index: { digest: "sha256:1" }, variants: [variant] }];
    expect(imageOf(answer, "arm64")).toEqual({
      digest: "sha256:1",
      env: ["A=1"],
      entrypoint: ["/e"],
      cmd: ["c"],
      workdir: "/w",
      user: null,
    });
    expect(imageOf(answer, "amd64")).toBeNull();
    expect(() => imageOf([], "arm64")).toThrow(/not as documented/);
  });
});
