import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { filesUnder } from "./module-graph.js";

/** `userInfo` and `homedir` throw for a user id without a passwd entry. */
it("only src/core/account.ts asks the system for the account", () => {
  const asking = filesUnder("src", ".ts").filter(
    (path) => !path.endsWith(".test.ts") && /\b(?:userInfo|homedir)\(/.test(readFileSync(path, "utf8")),
  );
  expect(asking).toEqual(["src/core/account.ts"]);
});
