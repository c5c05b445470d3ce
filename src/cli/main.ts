/**
 * src/cli owns the command line: words into requests, results and errors into text and an exit status. It decides
 * nothing about sandboxes. This file is all that every start loads; a verb's own code is imported when it is named.
 */
import { takeHeldAuthorities } from "../core/held-authorities.js";
import { dispatch } from "./dispatch.js";
import { ownInvocation } from "./invocation/own-process.js";

takeHeldAuthorities(process.env);
// Not a top-level await: that would rule out bundling into CommonJS, which Node starts faster.
void dispatch(process.argv.slice(2), ownInvocation()).then((status) => {
  // Everything that has to be written was waited for. What a stuck reader has not taken must not keep us.
  process.exit(status);
});
