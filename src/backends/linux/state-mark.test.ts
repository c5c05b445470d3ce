import { expect, it } from "vitest";
import { NO_MARK, stateMark } from "./state-mark.js";

it("a state directory has the mark that its supervisors show", () => {
  // The same value stands in native/jail/src/supervisor.rs.
  const mark = stateMark("/home/me/.local/state/agentkernel/journal");
  expect(mark).toBe("997fbb9450736f85");
  expect(mark).toHaveLength(NO_MARK.length);
});
