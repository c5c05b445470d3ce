import { describe, expect, it } from "vitest";
import type { Backend } from "../../src/core/backend.js";
import { actors } from "../support/actors.js";
import { admittedLacks, floor } from "./suite/capabilities.js";
import { describeBackendContract } from "./suite/index.js";

const [actor] = actors;
if (actor === undefined) throw new Error("there is no actor");

const lacking = (capability: string, reason = "it is hard"): Backend => ({
  name: "docker",
  lacks: [{ capability, reason }],
  boot: () => Promise.reject(new Error("never booted")),
});

describe("the floor of the contract", () => {
  it.each(floor)("no backend may lack %s, whatever its reason", (capability) => {
    const declare = () => describeBackendContract({ name: "a", actor, makeBackend: () => lacking(capability) });
    expect(declare).toThrow(`lacks ${capability}, which no backend may lack`);
  });

  it("nor may the machine's circumstances excuse it", () => {
    const lacks = [{ capability: "timeout", reason: "slow machine" }];
    const declare = () => describeBackendContract({ name: "a", actor, makeBackend: () => lacking("pause"), lacks });
    expect(declare).toThrow("lacks timeout");
  });

  it("what may be lacking needs a name that is asked for, and a reason", () => {
    expect(() => admittedLacks("a", [{ capability: "teleport", reason: "far" }])).toThrow("nobody asks for");
    expect(() => admittedLacks("a", [{ capability: "terminal", reason: " " }])).toThrow("does not say why");
    expect(admittedLacks("a", [{ capability: "terminal", reason: "no devpts" }])).toEqual(
      new Map([["terminal", "no devpts"]]),
    );
  });

  it("has everything that agents cannot do without", () => {
    expect(floor).toEqual(expect.arrayContaining(["exit-status", "streams", "working-directory", "timeout"]));
    expect(floor).toEqual(expect.arrayContaining(["filesystem-isolation", "network-isolation", "cleanup"]));
  });
});
