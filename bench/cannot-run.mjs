/** A figure, or a rival in one, that this machine does not let run: no fault of what is measured. */
export class CannotRun extends Error {}
