import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";
import { filesElsewhere } from "./test/security/elsewhere/table.js";

/** No test asks a registry of the world outside, and only tests of images use one. */
const testEnvironment = { AGENTKERNEL_IMAGE: "host", AGENTKERNEL_PULL: "never" };

/**
 * These projects start real sandboxes and count what they leave behind, so two files of one vitest must never run side
 * by side: one worker within a project, and a group of its own so that no two projects overlap. `npm test` runs several
 * vitests, each in a world of its own.
 */
function serialProject(name: string, groupOrder: number): TestProjectInlineConfiguration & { test: object } {
  return {
    test: {
      name,
      env: testEnvironment,
      include: [`test/${name}/**/*.test.ts`],
      globalSetup: ["test/support/test-folder.ts"],
      fileParallelism: false,
      maxWorkers: 1,
      sequence: { groupOrder },
      // Only what hangs: what has to be quick says so itself.
      testTimeout: 180_000,
      hookTimeout: 180_000,
      expect: { poll: { timeout: 60_000 } },
    },
  };
}

/** The security suite once more, on another backend; one engine is started for all of it. */
function securityOn(backend: string, groupOrder: number): TestProjectInlineConfiguration {
  const { test } = serialProject("security", groupOrder);
  return {
    test: {
      ...test,
      name: `security-${backend}`,
      env: { ...testEnvironment, AGENTKERNEL_TEST_BACKEND: backend },
      include: filesElsewhere().map((file) => `test/security/${file}.test.ts`),
      runner: "test/security/elsewhere/runner.ts",
      globalSetup: [
        "test/support/test-folder.ts",
        ...(["docker", "podman"].includes(backend) ? ["test/support/shared-engine.ts"] : []),
      ],
    },
  };
}

export default defineConfig({
  test: {
    passWithNoTests: true,
    // `--changed` follows the module graph; a script more in package.json changes no module.
    forceRerunTriggers: ["**/vitest.config.*/**"],
    env: testEnvironment,
    projects: [
      {
        test: {
          name: "unit",
          env: testEnvironment,
          include: [
            "src/**/*.test.ts",
            "scripts/**/*.test.ts",
            "test/architecture/**/*.test.ts",
            "test/fuzz/**/*.test.ts",
          ],
          // Properties try hundreds of cases, and machines may be busy.
          testTimeout: 60_000,
          hookTimeout: 60_000,
          expect: { poll: { timeout: 20_000 } },
        },
      },
      serialProject("contract", 1),
      serialProject("security", 2),
      securityOn("docker", 3),
      securityOn("podman", 4),
      securityOn("gvisor", 5),
      securityOn("microvm", 6),
      serialProject("faults", 7),
      serialProject("e2e", 8),
      serialProject("swift", 9),
    ],
  },
});
