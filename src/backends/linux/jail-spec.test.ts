import { describe, expect, it } from "vitest";
import { resolve } from "../../policy/resolve.js";
import { jailSpec, specText } from "./jail-spec.js";

const { policy } = resolve({});
const boot = {
  id: "run-1",
  hostname: "run-1",
  policy,
  image: { kind: "host" },
  projectDir: "/p",
  homeDir: null,
} as const;
const paths = { guestBinary: "/g", journalDir: "/j" };

describe("the text of a spec", () => {
  it("says what the spec says, the first time and again", () => {
    const spec = jailSpec(boot, paths);
    expect(spec.hide.length).toBeGreaterThan(10);
    expect(JSON.parse(specText(spec))).toEqual(spec);
    expect(JSON.parse(specText(spec))).toEqual(spec);
  });

  it("follows rules that can still change", () => {
    const hide = [{ glob: "**/a" }];
    const spec = { ...jailSpec(boot, paths), hide, protect: [] };
    specText(spec);
    hide.push({ glob: "**/b" });
    expect(JSON.parse(specText(spec))).toMatchObject({ hide, protect: [] });
  });

  it("names the look ahead that was made for it, and none otherwise", () => {
    expect(jailSpec({ ...boot, foreseen: 7 }, paths)).toMatchObject({ foreseen: 7 });
    expect(jailSpec(boot, paths)).not.toHaveProperty("foreseen");
  });
});
