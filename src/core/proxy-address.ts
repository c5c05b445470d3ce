/** Where programs in a sandbox find the proxy that leads to the gateway (native/net/src/capture/address.rs has the same). */
export const proxyAddress = { host: "127.0.0.1", port: 3128 } as const;
