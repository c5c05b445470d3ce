/** The server itself. */
import { answerObject, field, named } from "../schema/object-shape.js";
import { choice, text } from "../schema/shapes.js";
import { answer, operation } from "./operation.js";

const tag = "server";

export const health = operation({
  id: "getHealth",
  method: "GET",
  path: "/health",
  tag,
  summary: "Whether the server takes requests",
  scope: null,
  answers: [
    answer(
      200,
      "It answers.",
      named("Health", answerObject({ status: field(choice(["ok", "stopping"]), "`stopping`: it takes no new work.") })),
    ),
  ],
});

export const version = operation({
  id: "getVersion",
  method: "GET",
  path: "/version",
  tag,
  summary: "Which version it is",
  scope: null,
  answers: [
    answer(
      200,
      "The version.",
      named(
        "Version",
        answerObject({
          version: field(text(), "Of agentkernel."),
          build: field(text(), "Tells builds of one version apart."),
          node: field(text(), "Of the runtime below."),
        }),
      ),
    ),
  ],
});

export const metrics = operation({
  id: "getMetrics",
  method: "GET",
  path: "/metrics",
  tag,
  summary: "Figures for Prometheus",
  scope: ["metrics"],
  answers: [{ status: 200, help: "Its text format.", content: [{ type: "text/plain", schema: { type: "string" } }] }],
});

export const description = operation({
  id: "getOpenApi",
  method: "GET",
  path: "/openapi.json",
  tag,
  summary: "This description",
  scope: null,
  answers: [{ status: 200, help: "OpenAPI 3.1.", content: [{ type: "application/json", schema: { type: "object" } }] }],
});

export const docs = operation({
  id: "getDocs",
  method: "GET",
  path: "/docs",
  tag,
  summary: "This description, for people",
  scope: null,
  answers: [{ status: 200, help: "A page.", content: [{ type: "text/html", schema: { type: "string" } }] }],
});
