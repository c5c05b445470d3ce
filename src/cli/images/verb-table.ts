/** The verbs of the image store. Their code is loaded when one is named. */
import type { OptionSpec, VerbSpec } from "../option-spec.js";

const json: OptionSpec = { long: "json", help: "print the result as JSON" };
const mirror: OptionSpec = {
  long: "mirror",
  value: "HOST",
  repeats: true,
  help: "ask this mirror of Docker's registry first; REGISTRY=HOST for another registry's",
};
const privateRedirects: OptionSpec = {
  long: "allow-private-redirects",
  help: "let a registry on a private network lead to other hosts of private networks",
};

export const imageVerbs: readonly VerbSpec[] = [
  {
    name: "images pull",
    summary: "bring an image from its registry into the store",
    usage: "images pull [options] <image>",
    examples: [
      "agentkernel images pull python:3.12-alpine",
      "agentkernel images pull --mirror http://localhost:5000 alpine:3.20",
    ],
    options: [mirror, privateRedirects, json],
    rest: { kind: "words" },
    apart: true,
    load: () => import("../verbs/images-pull.js"),
  },
  {
    name: "images list",
    summary: "list the images in the store",
    usage: "images list [options]",
    examples: ["agentkernel images list", "agentkernel images list --json"],
    options: [json],
    rest: { kind: "none" },
    load: () => import("../verbs/images-list.js"),
  },
  {
    name: "images remove",
    summary: "remove images from the store, by name or by the start of their digest",
    usage: "images remove [options] <image...>",
    examples: ["agentkernel images remove python:3.12-alpine", "agentkernel images remove sha256:3f1c2a"],
    options: [json],
    rest: { kind: "words" },
    apart: true,
    load: () => import("../verbs/images-remove.js"),
  },
  {
    name: "images import",
    summary: "take an image from an archive, a folder, standard input or a local engine",
    usage: "images import [options] <source> [name]",
    examples: [
      "agentkernel images import oci-archive:app.tar localhost/app:1",
      "agentkernel images import ./rootfs localhost/base:1",
      "agentkernel images import docker-daemon:app:1",
      "docker save app:1 | agentkernel images import -",
    ],
    options: [json],
    rest: { kind: "words", completes: "file" },
    apart: true,
    load: () => import("../verbs/images-import.js"),
  },
  {
    name: "images export",
    summary: "write an image as an archive that Docker, Podman and skopeo read",
    usage: "images export [options] <image> <file|->",
    examples: [
      "agentkernel images export python:3.12-alpine python.tar",
      "agentkernel images export --format docker app:1 - | docker load",
    ],
    options: [
      { long: "format", value: "FORMAT", choices: ["oci", "docker"], help: "what to write (default oci)" },
      json,
    ],
    rest: { kind: "words", completes: "file" },
    apart: true,
    load: () => import("../verbs/images-export.js"),
  },
  {
    name: "images lock",
    summary: "hold images to their digests in agentkernel.lock, or say which tags have moved",
    usage: "images lock [options] [image...]",
    examples: [
      "agentkernel images lock python:3.12-alpine",
      "agentkernel images lock",
      "agentkernel images lock --update",
    ],
    options: [{ long: "update", help: "take what the tags point to now" }, mirror, privateRedirects, json],
    rest: { kind: "words" },
    apart: true,
    load: () => import("../verbs/images-lock.js"),
  },
  {
    name: "images prune",
    summary: "free room: broken downloads and what no image needs, and older images where asked",
    usage: "images prune [options]",
    examples: [
      "agentkernel images prune",
      "agentkernel images prune --older-than 30d",
      "agentkernel images prune --ceiling 5g",
    ],
    options: [
      { long: "older-than", value: "AGE", help: "also images that were not used for so long, such as 12h or 30d" },
      { long: "ceiling", value: "SIZE", help: "also images not used for longest, until the rest fits, such as 5g" },
      { long: "all", help: "also every image that nothing uses" },
      json,
    ],
    rest: { kind: "none" },
    apart: true,
    load: () => import("../verbs/images-prune.js"),
  },
];
