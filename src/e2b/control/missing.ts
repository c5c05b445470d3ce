/** What E2B serves and agentkernel does not, each with what to use instead. */
import { AgentKernelError } from "../../core/errors.js";
import { unsupported } from "../errors.js";
import type { ControlHandler } from "./call.js";
import { ownTemplates } from "./create.js";

const BUILDS = "name an image where a template is expected: Sandbox.create('python:3.12'), or serve --e2b-template";
const TAGS = "tags of images are their registry's";
const VOLUMES = "use snapshots, or files.write";
const SECRETS = "secrets are bound to hosts in the user's policy, and never enter a sandbox";

function refusing(what: string, instead: string): ControlHandler {
  return async () => {
    throw unsupported(what, instead);
  };
}

export const routes: readonly (readonly [string, ControlHandler])[] = [
  ...[
    "GET /templates",
    "GET /templates/{}",
    "PATCH /templates/{}",
    "PATCH /v2/templates/{}",
    "POST /templates",
    "POST /v2/templates",
    "POST /v3/templates",
    "POST /templates/{}",
    "POST /v2/templates/{}/builds/{}",
    "GET /templates/{}/builds/{}/status",
    "GET /templates/{}/builds/{}/logs",
    "GET /templates/{}/files/{}",
  ].map((route) => [route, refusing("builds of templates", BUILDS)] as const),
  ...["POST /templates/tags", "DELETE /templates/tags", "GET /templates/{}/tags"].map(
    (route) => [route, refusing("tags of templates", TAGS)] as const,
  ),
  ...["GET /volumes", "POST /volumes", "GET /volumes/{}", "DELETE /volumes/{}"].map(
    (route) => [route, refusing("volumes", VOLUMES)] as const,
  ),
  ...["GET /secrets", "POST /secrets", "GET /secrets/{}", "POST /secrets/{}", "DELETE /secrets/{}"].map(
    (route) => [route, refusing("secrets", SECRETS)] as const,
  ),
];

/** Whether a template of this name can be made sandboxes from without asking a registry. */
export const alias: ControlHandler = async ({ params, templates }) => {
  const [name = ""] = params;
  if (!templates.has(name) && !ownTemplates.has(name)) {
    throw new AgentKernelError("not_found", `there is no template ${name.slice(0, 80)}`);
  }
  return { status: 200, body: { templateID: name, public: false } };
};
