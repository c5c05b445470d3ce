/** The SDK for Swift does what the others do (test/e2e/sdk-conformance.test.ts). */
import { describeConformance } from "../support/sdk/conformance.js";
import { swift } from "../support/sdk/runners.js";

describeConformance([swift]);
