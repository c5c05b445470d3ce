/** The options of `setup`. */
import { serviceNames } from "../setup/unit-names.js";
import type { VerbSpec } from "./option-spec.js";

export const setupVerb: VerbSpec = {
  name: "setup",
  summary: "show what sandboxes need on this machine, install what is picked, or remove all that agentkernel made",
  usage: "setup [options]",
  examples: [
    "agentkernel setup",
    "agentkernel setup --backend microvm",
    "agentkernel setup --service daemon",
    "agentkernel setup --service daemon --remove",
    "agentkernel setup --uninstall",
  ],
  options: [
    {
      long: "service",
      value: "NAME",
      choices: serviceNames,
      help: "write the file by which systemd or launchd runs this",
    },
    { long: "remove", help: "take the service's file away" },
    {
      long: "backend",
      value: "NAME",
      choices: ["microvm"],
      help: "get what this backend needs: programs as root, a kernel, and the proof that it works",
    },
    {
      long: "kernel",
      value: "FOLDER",
      help: "with --backend microvm: take the kernel that images/kernel/build.sh made",
    },
    {
      long: "uninstall",
      help: "end every sandbox and the daemon, and remove services, sandboxes, images and settings",
    },
    { long: "keep-data", help: "with --uninstall: sandboxes, images, log and settings stay" },
    { long: "print", help: "only show what would be done" },
    { long: "yes", short: "y", help: "do it without asking; as root, also run the commands that repair" },
    { long: "json", help: "print the result as JSON; nothing is asked" },
  ],
  rest: { kind: "none" },
  apart: true,
  load: () => import("./verbs/setup.js"),
};
