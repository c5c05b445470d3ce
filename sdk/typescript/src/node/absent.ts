/** Stands for this folder in bundles for browsers, which never ask for it. */
export const NodeTransport = undefined;
export const daemonSocket = undefined;
export const startLocalDaemon = undefined;
export const localToken = undefined;
