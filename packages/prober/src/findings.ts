import { eventReasons } from '@node-agent/telemetry';
import { kindName, type ProbeKind, type ProbeOutcome } from './types.ts';

/** Effect of a probe's outcome on the container, and its event. */
export interface Finding {
  /** Result that counts for the thresholds; `undefined` if the outcome counts as neither success nor failure. */
  readonly counted: 'success' | 'failure' | undefined;
  readonly event?: { readonly reason: string; readonly message: string };
}

const SUCCESS: Finding = { counted: 'success' };

/** Converts an outcome, with upstream's event texts (`probe` in `pkg/kubelet/prober/prober.go`). */
export function findingOf(kind: ProbeKind, { result, output }: ProbeOutcome): Finding {
  if (result === 'success') return SUCCESS;
  const name = kindName(kind);
  const unhealthy = (words: string): Pick<Finding, 'event'> => ({
    event: { reason: eventReasons.containerUnhealthy, message: `${name} probe ${words}: ${output}` },
  });
  switch (result) {
    case 'warning': {
      const message = `${name} probe warning: ${output}`;
      return { counted: 'success', event: { reason: eventReasons.containerProbeWarning, message } };
    }
    case 'failure':
      return { counted: 'failure', ...unhealthy('failed') };
    case 'error':
      return { counted: undefined, ...unhealthy('errored and resulted in unknown state') };
    case 'broken':
      return { counted: undefined, ...unhealthy('errored and resulted in failure state') };
  }
}
