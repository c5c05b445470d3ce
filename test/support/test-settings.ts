/**
 * What every run of a test has unless it is about images: no registry of the world outside is ever asked. With
 * AGENTKERNEL_TEST_BACKEND the whole suite attacks that backend instead of the usual one.
 */
const backend = process.env.AGENTKERNEL_TEST_BACKEND;

export const testSettings: Readonly<Record<string, string>> = {
  AGENTKERNEL_IMAGE: "host",
  AGENTKERNEL_PULL: "never",
  ...(backend === undefined ? {} : { AGENTKERNEL_BACKEND: backend }),
};
