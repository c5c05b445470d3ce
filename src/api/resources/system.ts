/** The server itself. */
import { buildId } from "../../core/build-id.js";
import { version as ownVersion } from "../../core/version.js";
import type { HandlerFor } from "../call.js";
import { data } from "../http/reply.js";

export const health: HandlerFor<"health"> = async (_asked, { isStopping }) =>
  data({ status: isStopping() ? "stopping" : "ok" });

export const version: HandlerFor<"version"> = async () =>
  data({ version: ownVersion, build: buildId(), node: process.versions.node });

export const metrics: HandlerFor<"metrics"> = async (_asked, backing) => ({
  kind: "text",
  type: "text/plain; version=0.0.4; charset=utf-8",
  text: backing.metrics.text(),
});

export const description: HandlerFor<"description"> = async () => ({
  kind: "text",
  type: "application/json",
  text: (await import("../openapi.js")).openApiText(ownVersion),
});

export const docs: HandlerFor<"docs"> = async () => {
  const { docsPage, pagePolicy } = await import("../docs-page.js");
  return {
    kind: "text",
    type: "text/html; charset=utf-8",
    text: docsPage(ownVersion),
    headers: { "content-security-policy": pagePolicy },
  };
};
