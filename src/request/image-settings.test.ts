import { describe, expect, it } from "vitest";
import { LAYER_LIMITS } from "../images/unpack/limits.js";
import type { PullChoice } from "../runtime/root-image.js";
import { imageSettings } from "./image-settings.js";

function settings(
  env: Readonly<Record<string, string>>,
  pullStated?: PullChoice,
  configured: Parameters<typeof imageSettings>[2] = {},
) {
  return imageSettings({ cwd: "/", homeDir: "/home/me", env }, pullStated, configured);
}

describe("settings of images", () => {
  it("are the usual ones where nothing is said", () => {
    expect(settings({})).toMatchObject({
      storeRoot: "/home/me/.local/share/agentkernel/images",
      pull: "missing",
      mirrors: [],
      ceilingBytes: null,
      layerLimits: LAYER_LIMITS,
    });
  });

  it("take mirrors in order, the environment's before those of the user's file", () => {
    const env = { AGENTKERNEL_IMAGE_MIRRORS: "https://a.example, http://127.0.0.1:5000,only" };
    const configured = { mirrors: new Map([["docker.io", ["b.example"]]]), disk_ceiling_mb: 2 };
    const { mirrors, ceilingBytes } = settings(env, undefined, configured);
    expect(mirrors).toEqual(["https://a.example", "http://127.0.0.1:5000", "only", "docker.io=b.example"]);
    expect(ceilingBytes).toBe(2 * 1024 * 1024);
  });

  it("take what a layer may become at most", () => {
    const env = { AGENTKERNEL_LAYER_MAX_BYTES: "1000", AGENTKERNEL_LAYER_MAX_ENTRIES: "10" };
    expect(settings(env).layerLimits).toEqual({ maxBytes: 1000, maxEntries: 10 });
    for (const wrong of ["0", "-1", "1e3", "many", "1.5", "99999999999999999999"]) {
      expect(() => settings({ AGENTKERNEL_LAYER_MAX_BYTES: wrong })).toThrow(
        /AGENTKERNEL_LAYER_MAX_BYTES: ".*" is not a number/,
      );
    }
  });

  it("let an option win over the variable, and refuse what is neither", () => {
    expect(settings({ AGENTKERNEL_PULL: "never" }, "always").pull).toBe("always");
    expect(settings({ AGENTKERNEL_PULL: "never" }).pull).toBe("never");
    expect(() => settings({ AGENTKERNEL_PULL: "sometimes" })).toThrow(/AGENTKERNEL_PULL/);
  });
});
