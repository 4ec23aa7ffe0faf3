import { type Container, type Pod, podReference } from '@node-agent/pod-spec';
import type { ObjectReference } from '@node-agent/telemetry';
import { History, type ProbeExplanation } from './history.ts';
import type { ProbeLabels, ProbeSeries } from './metrics.ts';
import { type ProbeTimes, probeTimes } from './probe-times.ts';
import { type ProbeKind, type ProbeResult, probeOf } from './types.ts';
import { newWorkerState, type WorkerState } from './worker-rule.ts';

/** One probe of one container of one pod, from the pod's addition until its removal. All times are monotonic, in ms. */
export class Worker {
  readonly pod: Pod;
  readonly container: Container;
  readonly kind: ProbeKind;
  readonly probe: NonNullable<ReturnType<typeof probeOf>>;
  readonly times: ProbeTimes;
  readonly labels: ProbeLabels;
  readonly series: ProbeSeries;
  /** Whether the probe connects to the pod's own address. */
  readonly needsAddress: boolean;
  readonly reference: ObjectReference;
  readonly history: History;
  state: WorkerState = newWorkerState;
  /** An instant of the grid of times at which the probe is due. */
  gridMs = 0;
  /** Time at which the current container was first seen. */
  seenMs = 0;
  /** Whether the current container has been probed. */
  probed = false;
  /** Whether the probe's result has been success since the container started; no more early attempts are made then. */
  succeeded = false;
  /** Whether the next attempt is an early one, outside the grid; only its success counts. */
  early = false;
  waitsFor: string | undefined = 'its first turn';
  attempt: { callOff(): void } | undefined;
  /** Whether another attempt must be made as soon as the current one ends. */
  again = false;
  removed = false;

  constructor(
    pod: Pod,
    container: Container,
    kind: ProbeKind,
    historyLength: number,
    seriesOf: (labels: ProbeLabels) => ProbeSeries,
  ) {
    this.pod = pod;
    this.container = container;
    this.kind = kind;
    this.probe = probeOf(container, kind) ?? {};
    this.times = probeTimes(pod, container, kind);
    this.history = new History(historyLength);
    const { name, namespace, uid } = pod.metadata;
    this.labels = { kind, container: container.name, pod: name, namespace, podUid: uid };
    this.series = seriesOf(this.labels);
    const { httpGet, tcpSocket, grpc } = this.probe;
    this.needsAddress = grpc != null || (httpGet != null && !httpGet.host) || (tcpSocket != null && !tcpSocket.host);
    const list = pod.spec.initContainers?.some((init) => init.name === container.name)
      ? 'initContainers'
      : 'containers';
    this.reference = { ...podReference(pod), fieldPath: `spec.${list}{${container.name}}` };
  }

  get podUid(): string {
    return this.pod.metadata.uid;
  }

  /**
   * Explains the probe.
   * @param dueInMs `undefined` while the probe runs
   */
  explain(result: ProbeResult | undefined, dueInMs: number | undefined): ProbeExplanation {
    return {
      ...{ container: this.container.name, kind: this.kind, containerId: this.state.containerId },
      ...(result !== undefined && { result }),
      ...(this.waitsFor !== undefined && { waitsFor: this.waitsFor }),
      ...(dueInMs !== undefined && { dueInMs }),
      last: this.history.records,
    };
  }
}
