import { describe, expect, it } from "vitest";
import { LAYER_LIMITS } from "../images/unpack/limits.js";
import { imageSettings } from "./image-settings.js";

function settings(env: Readonly<Record<string, string>>, pullOption?: string) {
  return imageSettings({ cwd: "/", homeDir: "/home/me", env }, pullOption);
}

describe("settings of images", () => {
  it("are the usual ones where nothing is said", () => {
    expect(settings({})).toMatchObject({
      storeRoot: "/home/me/.local/share/agentkernel/images",
      pull: "missing",
      mirrors: { "docker.io": [] },
      mirrorsOnly: false,
      layerLimits: LAYER_LIMITS,
    });
  });

  it("take mirrors in order, and whether nobody else is asked", () => {
    const { mirrors, mirrorsOnly } = settings({
      AGENTKERNEL_IMAGE_MIRRORS: "https://a.example, http://127.0.0.1:5000,only",
    });
    expect(mirrors).toEqual({ "docker.io": ["https://a.example", "http://127.0.0.1:5000"] });
    expect(mirrorsOnly).toBe(true);
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
