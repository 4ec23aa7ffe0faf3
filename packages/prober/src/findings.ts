import { eventReasons } from '@node-agent/telemetry';
import { kindName, type ProbeKind, type ProbeOutcome } from './types.ts';

/** What a probe's outcome means for the container, and what is said of it. */
export interface Finding {
  /** What counts; `undefined` where nothing does. */
  readonly counted: 'success' | 'failure' | undefined;
  readonly event?: { readonly reason: string; readonly message: string };
}

const SUCCESS: Finding = { counted: 'success' };

/** An outcome in upstream's words (`probe` in `pkg/kubelet/prober/prober.go`). */
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
