import type { Pod, RuntimePodStatus } from '@node-agent/pod-spec';
import { admitPod, confirmAll } from '../admit/admit-pod.ts';
import type { AllocationPort } from '../admit/allocation.ts';
import type { Dependencies } from '../dependencies.ts';
import { KubeletError } from '../errors.ts';
import type { KubeletPodSyncer } from '../pods/pod-syncer.ts';
import { waited } from '../sync/sync-loop.ts';

/** Result of starting one pod. */
export interface RunPodResult {
  readonly pod: Pod;
  /** Reason why the pod does not run; absent if it runs. */
  readonly error?: Error;
}

type Components = Pick<Dependencies, 'clock' | 'admitHandlers' | 'runtime'> & {
  readonly syncer: Pick<KubeletPodSyncer, 'syncPod'>;
  readonly allocation: Pick<AllocationPort, 'allocate'>;
};

/**
 * Delay before the first retry; it doubles with each retry (1 s, 2 s, 4 s, ...). After `MAX_RETRIES` retries, the
 * result of the pod is an error.
 */
const FIRST_DELAY_MS = 1000;
const MAX_RETRIES = 10;

/** Returns the pods of all sources, once each source has reported. */
export async function firstPods(
  podConfig: Pick<Dependencies['podConfig'], 'updates' | 'seenAllSources'>,
  signal: AbortSignal,
): Promise<readonly Pod[]> {
  const pods = new Map<string, Pod>();
  for await (const { op, pods: changed } of podConfig.updates) {
    signal.throwIfAborted();
    for (const pod of changed) {
      if (op === 'REMOVE') pods.delete(pod.metadata.uid);
      else pods.set(pod.metadata.uid, pod);
    }
    if (podConfig.seenAllSources()) break;
  }
  return [...pods.values()];
}

/**
 * Admits the pods, starts the admitted ones in parallel, and waits until their containers run or the pod has
 * terminated.
 */
export async function runPodsOnce(
  pods: readonly Pod[],
  components: Components,
  signal: AbortSignal,
): Promise<readonly RunPodResult[]> {
  const admitted: Pod[] = [];
  const results: Promise<RunPodResult>[] = [];
  for (const pod of pods) {
    const verdict = await admitPod(components.admitHandlers, pod, () => [...admitted], signal);
    signal.throwIfAborted();
    if (verdict.admit) {
      confirmAll(components.admitHandlers, pod);
      admitted.push(pod);
      components.allocation.allocate(pod);
      results.push(outcome(pod, runPod(pod, components, signal)));
    } else {
      results.push(outcome(pod, Promise.reject(new KubeletError('Refused', `${verdict.reason}: ${verdict.message}`))));
    }
  }
  return await Promise.all(results);
}

async function outcome(pod: Pod, work: Promise<void>): Promise<RunPodResult> {
  try {
    await work;
    return { pod };
  } catch (err) {
    return { pod, error: err instanceof Error ? err : new Error(String(err)) };
  }
}

async function runPod(pod: Pod, { clock, runtime, syncer }: Components, signal: AbortSignal): Promise<void> {
  const { uid, name, namespace } = pod.metadata;
  let error: unknown;
  for (let retry = 0; retry <= MAX_RETRIES; retry++) {
    const status = await runtime.getPodStatus(uid, name, namespace, signal);
    if (isUp(pod, status)) return;
    try {
      const { isTerminal } = await syncer.syncPod('create', pod, undefined, status, signal);
      if (isTerminal) return;
      error = undefined;
    } catch (err) {
      error = err;
    }
    if (isUp(pod, await runtime.getPodStatus(uid, name, namespace, signal))) return;
    if (!(await waited(clock, FIRST_DELAY_MS * 2 ** retry, signal))) signal.throwIfAborted();
  }
  throw new KubeletError('NotUp', `timeout: pod ${namespace}/${name} does not run after ${MAX_RETRIES} retries`, {
    cause: error,
  });
}

/** Returns whether the newest attempt of each main container runs. */
function isUp(pod: Pod, status: RuntimePodStatus): boolean {
  return pod.spec.containers.every(
    ({ name }) => status.containers.find((container) => container.name === name)?.state === 'running',
  );
}
