import type { ProbeKind } from '@node-agent/contracts';
import type { Container, Probe } from '@node-agent/pod-spec';

export type { ProbeKind, ProbeResult, ProbeUpdate } from '@node-agent/contracts';

/**
 * Outcome of one attempt. `warning` counts as success. `error` and `broken` count as neither success nor failure: the
 * probe could not be made, or its response could not be read completely.
 */
export interface ProbeOutcome {
  readonly result: 'success' | 'warning' | 'failure' | 'error' | 'broken';
  /** Output of the target, or the error in upstream's words. */
  readonly output: string;
}

/** Kinds of probes, in the order in which a container's probes start. */
export const PROBE_KINDS: readonly ProbeKind[] = ['startup', 'readiness', 'liveness'];

/** Returns a container's probe of this kind. */
export function probeOf(container: Container, kind: ProbeKind): Probe | undefined {
  if (kind === 'liveness') return container.livenessProbe;
  return kind === 'readiness' ? container.readinessProbe : container.startupProbe;
}

/** Returns the name of a kind in events and metrics, such as `Readiness`. */
export function kindName(kind: ProbeKind): string {
  return kind[0]?.toUpperCase() + kind.slice(1);
}
