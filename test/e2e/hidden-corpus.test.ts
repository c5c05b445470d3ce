/** Packages that are here anyway: the whole corpus is `npm run test:corpus`. */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findHidden } from "../../src/guest/hidden-content.js";
import { builtInHideRules } from "../../src/policy/hidden.js";
import { holdsKey } from "../corpus/key-oracle.mjs";
import { repository } from "../support/repository.js";

describe("packages of others", () => {
  it.each([["node_modules"], ["docs"], ["src"], ["examples"]])(
    "nothing of %s is hidden that holds no private key",
    async (name) => {
      const path = join(repository, name);
      const { hidden, omitted } = await findHidden(path, builtInHideRules);
      expect(omitted).toBe(0);
      expect(hidden.filter((file) => !holdsKey(join(path, file.path)))).toEqual([]);
    },
  );
});
