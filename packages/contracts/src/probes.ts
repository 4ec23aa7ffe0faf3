/**
 * Purpose of a probe: restart the container, gate its traffic, or hold the other two probes back until the startup
 * probe succeeds.
 */
export type ProbeKind = 'liveness' | 'readiness' | 'startup';

/** Result of a container's probe that is in force. `unknown` is a startup probe that has not succeeded yet. */
export type ProbeResult = 'success' | 'failure' | 'unknown';

/** A probe result that differs from the result before. */
export interface ProbeUpdate {
  readonly podUid: string;
  /** The runtime's container id, without the prefix `containerd://`. */
  readonly containerId: string;
  readonly kind: ProbeKind;
  readonly result: ProbeResult;
}

/**
 * Probe results by container id (the runtime's, without the prefix `containerd://`). Each method returns `undefined` if the
 * probe has not run for this container yet.
 */
export interface ProbeResults {
  liveness(containerId: string): ProbeResult | undefined;
  readiness(containerId: string): ProbeResult | undefined;
  startup(containerId: string): ProbeResult | undefined;
}
