/** The machine that an image and its limits ask for. */
import type { ImageSource } from "../../core/backend.js";
import { AgentKernelError } from "../../core/errors.js";
import type { ResourcePolicy } from "../../core/policy.js";
import type { MonitorKind } from "./monitor.js";
import type { MicrovmOptions } from "./options.js";
import { type MachineShape, memoryMib, vcpus } from "./shape.js";

interface ShapeRequest {
  readonly image: ImageSource;
  readonly resources: ResourcePolicy;
  /** The first message to the virtual machine. */
  readonly first: (kind: MonitorKind) => string;
  /** Of one that stays. */
  readonly diskMib?: number;
}

export async function shapeFor(
  { monitor: openMonitor, files }: Pick<MicrovmOptions, "monitor" | "files">,
  { image, resources, first, diskMib }: ShapeRequest,
  signal?: AbortSignal,
): Promise<MachineShape> {
  if (image.kind === "host") {
    throw new AgentKernelError("unsupported", "the image host is not possible on this backend", {
      hint: ({ name }) =>
        `name an image with ${name("image")}: a virtual machine runs images, not this machine's own programs`,
    });
  }
  const [monitor, kernel, root] = await Promise.all([openMonitor(), files.kernel(), files.root(image, signal)]);
  const sizes = { memoryMib: memoryMib(resources), vcpus: vcpus(resources, monitor), diskMib: diskMib ?? null };
  return { monitor, kernel, root, first: first(monitor.kind), ...sizes };
}
