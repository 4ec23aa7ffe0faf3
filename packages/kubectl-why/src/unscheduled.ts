/** The used fields of a pod on the API server. */
export interface ApiPod {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid?: string;
    readonly creationTimestamp?: string;
  };
  readonly spec: {
    readonly nodeName?: string;
    readonly schedulerName?: string;
    readonly schedulingGates?: readonly { readonly name: string }[];
  };
  readonly status?: {
    readonly phase?: string;
    readonly reason?: string;
    readonly message?: string;
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason?: string;
      readonly message?: string;
      readonly lastTransitionTime?: string;
    }[];
  };
}

/** The explanation of a pod without a node, in the form of a node's explanation. */
export interface UnscheduledExplanation {
  readonly pod: { readonly namespace: string; readonly name: string; readonly uid: string };
  readonly atMs: number;
  readonly phase: string | undefined;
  readonly node: null;
  readonly waitingFor: readonly { readonly what: string; readonly sinceMs?: number }[];
}

/** Explains from its conditions why a pod has no node. */
export function explainUnscheduled({ metadata, spec, status }: ApiPod, nowMs: number): UnscheduledExplanation {
  const { namespace, name, uid = '' } = metadata;
  const scheduled = status?.conditions?.find(({ type }) => type === 'PodScheduled');
  const gates = spec.schedulingGates?.map((gate) => gate.name) ?? [];
  const scheduler = spec.schedulerName ?? 'default-scheduler';
  const what =
    scheduled === undefined
      ? `scheduling: the scheduler ${scheduler} has not processed it yet`
      : `scheduling: ${[scheduled.reason, scheduled.message].filter(Boolean).join(': ') || 'it is not bound to a node'}`;
  const sinceMs = Date.parse(scheduled?.lastTransitionTime ?? metadata.creationTimestamp ?? '');
  return {
    pod: { namespace, name, uid },
    atMs: nowMs,
    phase: status?.phase,
    node: null,
    waitingFor: [
      { what, ...(!Number.isNaN(sinceMs) && { sinceMs }) },
      ...gates.map((gate) => ({ what: `scheduling gate ${gate}: the controller that set it must remove it` })),
    ],
  };
}

/** Formats the explanation as text. */
export function unscheduledText({ pod, phase, atMs, waitingFor }: UnscheduledExplanation): string {
  const waits = waitingFor.map(({ what, sinceMs }) => {
    const since =
      sinceMs === undefined
        ? ''
        : ` (for ${Math.max(0, Math.round((atMs - sinceMs) / 1_000))} s, since ${new Date(sinceMs).toISOString()})`;
    return `  - ${what.replaceAll(/\s+/g, ' ')}${since}`;
  });
  return [
    `Pod ${pod.namespace}/${pod.name} is ${phase ?? 'Pending'}, and not scheduled to a node yet`,
    '',
    'Waits for:',
    ...waits,
    '',
  ].join('\n');
}
