/** Servers inside named sandboxes, reached through this interface. */
import { type Method, operation } from "./operation.js";
import { namedErrors } from "./sandboxes.js";

function port(method: Method) {
  return operation({
    id: `${method.toLowerCase()}Port`,
    method,
    path: "/sandboxes/{name}/ports/{port}/{path}",
    tag: "ports",
    summary: `${method} something of a server in a sandbox`,
    help: "Passed on to the port inside, and the answer back, with status, headers and body; also a WebSocket (GET). The key, cookies and what belongs to one connection stay outside. A key needs the port in its ceiling.",
    scope: ["sandboxes"],
    isProxied: true,
    answers: [
      {
        status: 200,
        help: "Whatever the server inside answers, with its own status.",
        content: [{ type: "*/*", schema: { type: "string", format: "binary" } }],
      },
    ],
    errors: [...namedErrors, "tool_failed", "too_many_requests"],
  });
}

export const getPort = port("GET");
export const postPort = port("POST");
export const putPort = port("PUT");
export const patchPort = port("PATCH");
export const deletePort = port("DELETE");
