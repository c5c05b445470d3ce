import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";

/** No test asks a registry of the world outside, and only tests of images use one. */
const testEnvironment = { AGENTKERNEL_IMAGE: "host", AGENTKERNEL_PULL: "never" };

/**
 * These projects start real sandboxes and count what they leave behind, so two files must never run side by side:
 * one worker within a project, and a group of its own so that no two projects overlap.
 */
function serialProject(name: string, groupOrder: number): TestProjectInlineConfiguration {
  return {
    test: {
      name,
      env: testEnvironment,
      include: [`test/${name}/**/*.test.ts`],
      globalSetup: ["test/support/test-folder.ts"],
      fileParallelism: false,
      maxWorkers: 1,
      sequence: { groupOrder },
      testTimeout: 60_000,
      hookTimeout: 60_000,
    },
  };
}

export default defineConfig({
  test: {
    passWithNoTests: true,
    env: testEnvironment,
    projects: [
      {
        test: {
          name: "unit",
          env: testEnvironment,
          include: ["src/**/*.test.ts", "scripts/**/*.test.ts", "test/architecture/**/*.test.ts"],
          // Properties try hundreds of cases, and machines may be busy.
          testTimeout: 30_000,
        },
      },
      serialProject("contract", 1),
      serialProject("security", 2),
      serialProject("faults", 3),
      serialProject("e2e", 4),
    ],
  },
});
