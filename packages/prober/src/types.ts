import type { ProbeKind } from '@node-agent/contracts';
import type { Container, Probe } from '@node-agent/pod-spec';

export type { ProbeKind, ProbeResult, ProbeUpdate } from '@node-agent/contracts';

/**
 * What one probe found. `warning` counts as success; `error` and `broken` count for nothing: the probe could not be made, or its answer
 * could not be read to its end.
 */
export interface ProbeOutcome {
  readonly result: 'success' | 'warning' | 'failure' | 'error' | 'broken';
  /** What the target said, or what went wrong; in upstream's words. */
  readonly output: string;
}

/** In the order in which a container's probes begin. */
export const PROBE_KINDS: readonly ProbeKind[] = ['startup', 'readiness', 'liveness'];

/** The probe of a container that is of this kind. */
export function probeOf(container: Container, kind: ProbeKind): Probe | undefined {
  if (kind === 'liveness') return container.livenessProbe;
  return kind === 'readiness' ? container.readinessProbe : container.startupProbe;
}

/** As `Readiness`: what events and metrics call it. */
export function kindName(kind: ProbeKind): string {
  return kind[0]?.toUpperCase() + kind.slice(1);
}
