/**
 * A process that pulls: `puller STORE REFERENCE [STOP_AT_BYTES]`. It prints what it pulled as JSON. With a number, it
 * says `stopped` as soon as so many bytes of a layer are there, and then stands still until it is killed.
 */
import { parseReference, pull } from "../../src/images/index.js";
import { ImageStore } from "../../src/images/store/index.js";

const [root = "", reference = "", stopAtBytes = "Infinity"] = process.argv.slice(2);
const store = await ImageStore.open(root);
const { record, from } = await pull(parseReference(reference), {
  store,
  onProgress: ({ doneBytes, totalBytes }) => {
    if (doneBytes < Number(stopAtBytes) || doneBytes === totalBytes) return;
    process.stdout.write("stopped\n");
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  },
});
process.stdout.write(`${JSON.stringify({ record, from })}\n`);
