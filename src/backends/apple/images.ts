/** Images in the store of Apple's program: found there, or pulled by it with the user's logins. */
import type { OwnImage, OwnImageRequest } from "../../core/backend.js";
import { AgentKernelError } from "../../core/errors.js";
import { escapeText } from "../../core/escape.js";
import { imageOf } from "./answers.js";
import { CliRefusal, type ContainerCli } from "./cli.js";
import { ARCHITECTURE } from "./container-words.js";

const PULL_PATIENCE_MS = 3_600_000;

export async function findAppleImage(cli: ContainerCli, request: OwnImageRequest): Promise<OwnImage> {
  const { reference, pull, signal } = request;
  if (reference === "host") {
    throw new AgentKernelError("unsupported", "the image host is not possible on this backend", {
      hint: ({ name }) =>
        `name an image with ${name("image")}: a virtual machine runs images, not this machine's own programs`,
    });
  }
  if (reference.startsWith("-")) {
    throw new AgentKernelError("invalid_argument", `${escapeText(reference)} is not the name of an image`);
  }
  const found = pull === "always" ? null : await look(cli, reference, signal);
  if (found !== null) return found;
  if (pull === "never") {
    throw new AgentKernelError("image_not_found", `Apple's container has no image ${escapeText(reference)}`, {
      hint: "load it there (container image load --input FILE), or leave out --pull never",
    });
  }
  const words = ["image", "pull", "--progress", "none", "--arch", ARCHITECTURE, reference];
  await cli.ask(words, { signal, patienceMs: PULL_PATIENCE_MS }).catch((error: unknown) => {
    throw refused(reference, error);
  });
  const pulled = await look(cli, reference, signal);
  if (pulled !== null) return pulled;
  throw new AgentKernelError("image_unavailable", `${escapeText(reference)} is not there for ${ARCHITECTURE}`, {
    hint: "name an image that was made for arm64",
  });
}

/** Null where it is not there, or not for this machine. */
async function look(cli: ContainerCli, reference: string, signal?: AbortSignal): Promise<OwnImage | null> {
  let answer: unknown;
  try {
    answer = await cli.json(["image", "inspect", reference], { signal });
  } catch (error) {
    if (error instanceof CliRefusal && /not ?found/i.test(error.words)) return null;
    throw refused(reference, error);
  }
  const image = imageOf(answer, ARCHITECTURE);
  if (image === null) return null;
  const { digest, ...defaults } = image;
  return { source: { kind: "engine", engine: "apple", id: reference }, defaults, digest };
}

function refused(reference: string, error: unknown): unknown {
  if (!(error instanceof CliRefusal)) return error;
  const message = `Apple's container cannot get ${escapeText(reference)}: ${error.words}`;
  return new AgentKernelError("image_unavailable", message, { cause: error });
}
