/** How long a guest may be silent before it is asked for a sign of life, and how long it may take to give one then. */
export interface HeartbeatTiming {
  readonly quietMs: number;
  readonly patienceMs: number;
}
