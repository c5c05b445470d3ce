/** What every run of a test has unless it is about images: no registry of the world outside is ever asked. */
export const testSettings = { AGENTKERNEL_IMAGE: "host", AGENTKERNEL_PULL: "never" } as const;
