/** Every SDK does the same scenarios: against a real server, by its socket and by TCP, and against one with a script. */
import { describeConformance } from "../support/sdk/conformance.js";
import { sdks } from "../support/sdk/runners.js";

describeConformance(sdks);
