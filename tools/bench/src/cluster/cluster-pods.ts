import { systemClock, systemRandom } from '@node-agent/async';
import { fieldSelector, type KubeClients, Reflector, resources } from '@node-agent/kube-client';
import type { Pod, PodSpec } from '@node-agent/pod-spec';
import { silentLogger } from '@node-agent/telemetry';
import { PAUSE_IMAGE } from '@node-agent/tools-containerd';

/** Namespace of the pods. */
const NAMESPACE = 'default';

/** Command of each pod's container. The command exits immediately on SIGTERM. */
export const POD_COMMAND: readonly string[] = ['sh', '-c', 'trap "exit 0" TERM; sleep infinity & wait'];

/** Spec of a pod that runs until it is stopped. */
export const PLAIN: PodSpec = {
  terminationGracePeriodSeconds: 1,
  dnsPolicy: 'Default',
  containers: [{ name: 'main', image: PAUSE_IMAGE, imagePullPolicy: 'IfNotPresent', command: POD_COMMAND }],
};

/**
 * Pods of one node. The pods are created, changed and deleted through the API. All times are the times at which this
 * program's watch delivered the change.
 */
export class ClusterPods {
  readonly #client: KubeClients['requests'];
  readonly #nodeName: string;
  readonly #reflector: Reflector<Pod>;
  readonly #waiting = new Set<() => void>();
  readonly #signal: AbortSignal;

  /**
   * @param signal aborts every wait for a pod with its reason, because the pods of a node that is being stopped may
   * never reach the expected state
   */
  constructor(client: KubeClients['requests'], nodeName: string, signal: AbortSignal) {
    this.#client = client;
    this.#signal = signal;
    this.#nodeName = nodeName;
    this.#reflector = new Reflector(
      { client, clock: systemClock, random: systemRandom, logger: silentLogger },
      { resource: resources.pods, namespace: NAMESPACE, fieldSelector: fieldSelector({ 'spec.nodeName': nodeName }) },
    );
  }

  /** Watches the pods until the signal is aborted. */
  async start(signal: AbortSignal): Promise<void> {
    const changes = this.#reflector.changes();
    const running = this.#reflector.start(signal);
    for await (const _change of changes) for (const look of [...this.#waiting]) look();
    await running;
  }

  /**
   * Creates a pod.
   * @param spec default: a pod that runs until it is stopped
   * @returns the time of the request in ms
   */
  async create(name: string, spec: PodSpec = PLAIN): Promise<number> {
    const startMs = performance.now();
    const metadata = { name, namespace: NAMESPACE, uid: '' };
    await this.#client.create(resources.pods, { metadata, spec: { ...spec, nodeName: this.#nodeName } });
    return startMs;
  }

  /** Deletes a pod. @returns the time of the request in ms */
  async delete(name: string): Promise<number> {
    const startMs = performance.now();
    await this.#client.delete(resources.pods, { namespace: NAMESPACE, name });
    return startMs;
  }

  async annotate(name: string, value: string): Promise<void> {
    const body = { metadata: { annotations: { 'bench/change': value } } };
    await this.#client.patch(resources.pods, { type: 'merge', body }, { namespace: NAMESPACE, name });
  }

  /** Resolves with the time in ms at which the pod was seen Ready. */
  async ready(name: string): Promise<number> {
    return this.#seen(name, (pod) => conditionHolds(pod, 'Ready'));
  }

  /** Waits until the pod becomes Ready, or is rejected or fails. Resolves with whether the pod became Ready. */
  async becomesReady(name: string): Promise<boolean> {
    await this.#seen(name, (pod) => conditionHolds(pod, 'Ready') || pod?.status?.phase === 'Failed');
    return this.phase(name) !== 'Failed';
  }

  async gone(name: string): Promise<number> {
    return this.#seen(name, (pod) => pod === undefined);
  }

  /** Resolves with the time in ms at which a restarted container of the pod was seen running. */
  async restarted(name: string): Promise<number> {
    return this.#seen(name, (pod) => {
      const [status] = pod?.status?.containerStatuses ?? [];
      return (status?.restartCount ?? 0) > 0 && status?.state?.running !== undefined;
    });
  }

  /** Resolves with the time in ms at which another container than `containerId` was seen running in the pod. */
  async nextContainer(name: string, containerId: string): Promise<number> {
    return this.#seen(name, (pod) => {
      const [status] = pod?.status?.containerStatuses ?? [];
      return status?.state?.running !== undefined && !(status.containerID ?? '').endsWith(containerId);
    });
  }

  /** Returns the pod's last seen phase; undefined if the pod does not exist. */
  phase(name: string): string | undefined {
    return this.#reflector.objects.get(`${NAMESPACE}/${name}`)?.status?.phase;
  }

  /** Returns the last seen reason why the pod's container terminated; undefined if it has not terminated. */
  endedFor(name: string): string | undefined {
    const [status] = this.#reflector.objects.get(`${NAMESPACE}/${name}`)?.status?.containerStatuses ?? [];
    return status?.state?.terminated?.reason;
  }

  /** Returns how often the pod's container was restarted, as last seen. */
  restarts(name: string): number {
    return this.#reflector.objects.get(`${NAMESPACE}/${name}`)?.status?.containerStatuses?.[0]?.restartCount ?? 0;
  }

  /** Returns the runtime's ID of the pod's container. */
  containerId(name: string): string {
    const pod = this.#reflector.objects.get(`${NAMESPACE}/${name}`);
    return pod?.status?.containerStatuses?.[0]?.containerID?.replace(/^.*:\/\//, '') ?? '';
  }

  #seen(name: string, holds: (pod: Pod | undefined) => boolean): Promise<number> {
    return new Promise((resolve, reject) => {
      const end = (): void => {
        this.#waiting.delete(look);
        this.#signal.removeEventListener('abort', fail);
      };
      const fail = (): void => {
        end();
        reject(this.#signal.reason);
      };
      const look = (): void => {
        if (!holds(this.#reflector.objects.get(`${NAMESPACE}/${name}`))) return;
        end();
        resolve(performance.now());
      };
      this.#waiting.add(look);
      this.#signal.addEventListener('abort', fail, { once: true });
      if (this.#signal.aborted) fail();
      else look();
    });
  }
}

interface Conditioned {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

/** Reports whether the condition `type` of a pod or node is True. */
export function conditionHolds(object: Conditioned | undefined, type: string): boolean {
  return (
    object?.status?.conditions?.some((condition) => condition.type === type && condition.status === 'True') ?? false
  );
}
