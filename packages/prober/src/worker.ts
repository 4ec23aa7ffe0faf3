import { type Container, type Pod, podReference } from '@node-agent/pod-spec';
import type { ObjectReference } from '@node-agent/telemetry';
import { History, type ProbeExplanation } from './history.ts';
import type { ProbeLabels, ProbeSeries } from './metrics.ts';
import { type ProbeTimes, probeTimes } from './probe-times.ts';
import { type ProbeKind, type ProbeResult, probeOf } from './types.ts';
import { newWorkerState, type WorkerState } from './worker-rule.ts';

/** One probe of one container of one pod, from when the pod is added until it is gone. All times are monotonic, in ms. */
export class Worker {
  readonly pod: Pod;
  readonly container: Container;
  readonly kind: ProbeKind;
  readonly probe: NonNullable<ReturnType<typeof probeOf>>;
  readonly times: ProbeTimes;
  readonly labels: ProbeLabels;
  readonly series: ProbeSeries;
  /** It goes to the pod's own address. */
  readonly needsAddress: boolean;
  readonly reference: ObjectReference;
  readonly history: History;
  state: WorkerState = newWorkerState;
  /** An instant of the grid on which the probe is due. */
  gridMs = 0;
  /** When the container that is probed was seen first. */
  seenMs = 0;
  /** A probe of that container has been made. */
  probed = false;
  /** It stood as a success once: it begins no more. */
  succeeded = false;
  /** The next one is beside the grid: only its success counts. */
  early = false;
  waitsFor: string | undefined = 'its first turn';
  underWay: { callOff(): void } | undefined;
  /** Wanted again as soon as that has ended. */
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

  /** What is known of it. @param dueInMs `undefined` while it runs */
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
