/**
 * The command line with verbs that need the daemon: `run` does, and `own FOLDER` has the daemon own a kept sandbox. It is
 * otherwise what users have, from the same sources.
 */
import { dispatch } from "../../../src/cli/dispatch.js";
import { ownInvocation } from "../../../src/cli/invocation/own-process.js";
import type { VerbSpec } from "../../../src/cli/option-spec.js";
import { verbs } from "../../../src/cli/verbs.js";
import { execute } from "./own-verb.js";

const own: VerbSpec = {
  name: "own",
  summary: "own a kept sandbox",
  usage: "own FOLDER",
  examples: [],
  options: [],
  rest: { kind: "words" },
  daemon: "required",
  load: () => Promise.resolve({ execute }),
};

(verbs as VerbSpec[]).push(own);
Object.assign(verbs.find(({ name }) => name === "run") ?? {}, { daemon: "required" });

void dispatch(process.argv.slice(2), ownInvocation()).then((status) => process.exit(status));
