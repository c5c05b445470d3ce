export class CannotRun extends Error {}
