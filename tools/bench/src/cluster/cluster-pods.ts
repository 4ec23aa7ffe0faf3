import { systemClock, systemRandom } from '@node-agent/async';
import { fieldSelector, type KubeClients, Reflector, resources } from '@node-agent/kube-client';
import type { Pod, PodSpec } from '@node-agent/pod-spec';
import { silentLogger } from '@node-agent/telemetry';
import { PAUSE_IMAGE } from '@node-agent/tools-containerd';

/** Where the pods are. */
const NAMESPACE = 'default';

/** What the container of each pod runs: it ends at once when it is told to. */
export const POD_COMMAND: readonly string[] = ['sh', '-c', 'trap "exit 0" TERM; sleep infinity & wait'];

const PLAIN: PodSpec = {
  terminationGracePeriodSeconds: 1,
  dnsPolicy: 'Default',
  containers: [{ name: 'main', image: PAUSE_IMAGE, imagePullPolicy: 'IfNotPresent', command: POD_COMMAND }],
};

/** The pods of one node, made, changed and deleted in the API, and watched there: all times are those of this program's watch. */
export class ClusterPods {
  readonly #client: KubeClients['requests'];
  readonly #nodeName: string;
  readonly #reflector: Reflector<Pod>;
  readonly #waiting = new Set<() => void>();
  readonly #signal: AbortSignal;

  /** @param signal ends every wait for a pod, with its reason: a node that is being ended may never be as it is waited for */
  constructor(client: KubeClients['requests'], nodeName: string, signal: AbortSignal) {
    this.#client = client;
    this.#signal = signal;
    this.#nodeName = nodeName;
    this.#reflector = new Reflector(
      { client, clock: systemClock, random: systemRandom, logger: silentLogger },
      { resource: resources.pods, namespace: NAMESPACE, fieldSelector: fieldSelector({ 'spec.nodeName': nodeName }) },
    );
  }

  /** Watches until the signal is aborted. */
  async start(signal: AbortSignal): Promise<void> {
    const changes = this.#reflector.changes();
    const running = this.#reflector.start(signal);
    for await (const _change of changes) for (const look of [...this.#waiting]) look();
    await running;
  }

  /**
   * @param spec of one that runs until it is told to end where absent
   * @returns when it was asked for, in milliseconds
   */
  async create(name: string, spec: PodSpec = PLAIN): Promise<number> {
    const startMs = performance.now();
    const metadata = { name, namespace: NAMESPACE, uid: '' };
    await this.#client.create(resources.pods, { metadata, spec: { ...spec, nodeName: this.#nodeName } });
    return startMs;
  }

  /** @returns when it was asked for, in milliseconds */
  async delete(name: string): Promise<number> {
    const startMs = performance.now();
    await this.#client.delete(resources.pods, { namespace: NAMESPACE, name });
    return startMs;
  }

  async annotate(name: string, value: string): Promise<void> {
    const body = { metadata: { annotations: { 'bench/change': value } } };
    await this.#client.patch(resources.pods, { type: 'merge', body }, { namespace: NAMESPACE, name });
  }

  /** When the pod was seen Ready, in milliseconds. */
  async ready(name: string): Promise<number> {
    return this.#seen(name, (pod) => conditionHolds(pod, 'Ready'));
  }

  /** Whether the pod became Ready; it may be refused, or fail, instead. */
  async becomesReady(name: string): Promise<boolean> {
    await this.#seen(name, (pod) => conditionHolds(pod, 'Ready') || pod?.status?.phase === 'Failed');
    return this.phase(name) !== 'Failed';
  }

  async gone(name: string): Promise<number> {
    return this.#seen(name, (pod) => pod === undefined);
  }

  /** When the pod was seen with a container that was started again, and runs. */
  async restarted(name: string): Promise<number> {
    return this.#seen(name, (pod) => {
      const [status] = pod?.status?.containerStatuses ?? [];
      return (status?.restartCount ?? 0) > 0 && status?.state?.running !== undefined;
    });
  }

  /** The pod's phase as it was seen last; absent where there is no such pod. */
  phase(name: string): string | undefined {
    return this.#reflector.objects.get(`${NAMESPACE}/${name}`)?.status?.phase;
  }

  /** Why the pod's container has ended, as it was seen last; absent where it has not. */
  endedFor(name: string): string | undefined {
    const [status] = this.#reflector.objects.get(`${NAMESPACE}/${name}`)?.status?.containerStatuses ?? [];
    return status?.state?.terminated?.reason;
  }

  /** The id by which the runtime knows the pod's container. */
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

/** Whether a pod or a node has a condition, and it is True. */
export function conditionHolds(object: Conditioned | undefined, type: string): boolean {
  return (
    object?.status?.conditions?.some((condition) => condition.type === type && condition.status === 'True') ?? false
  );
}
