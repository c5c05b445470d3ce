/** Where our own native programs are: beside the bundle, or in the checkout's build. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { AgentKernelError } from "./errors.js";

export function nativeBinary(name: "ak-guest" | "ak-jail" | "ak-probe"): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  for (;;) {
    for (const candidate of [join(folder, "native", name), join(folder, "dist", "native", name)]) {
      if (existsSync(candidate)) return candidate;
    }
    const parent = dirname(folder);
    if (parent === folder) break;
    folder = parent;
  }
  throw new AgentKernelError("backend_unavailable", `${name} is not built`, {
    hint: "in a checkout, npm run build makes it; a package that lacks it is broken: install it again",
  });
}
