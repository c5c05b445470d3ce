/** The parts of agentkernel that a service manager can run. */
export const serviceNames = ["daemon", "serve"] as const;
export type ServiceName = (typeof serviceNames)[number];
