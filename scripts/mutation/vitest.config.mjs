// For Stryker's runs: the unit tests of one area (areas.mjs), named by scripts/mutation.mjs.
export default {
  test: {
    include: JSON.parse(process.env.AGENTKERNEL_MUTATION_TESTS),
    env: { AGENTKERNEL_IMAGE: "host", AGENTKERNEL_PULL: "never" },
    testTimeout: 60_000,
  },
};
