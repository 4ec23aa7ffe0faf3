import { type Clock, checkComponents, StartOnce, TaskGroup, WorkQueue } from '@node-agent/async';
import { type Pod, podFullName } from '@node-agent/pod-spec';
import { type Logger, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { type MirrorStep, mirrorPodOf, mirrorStep } from './mirror-rules.ts';

/** The requests of the API server that mirror pods take. They throw errors whose `code` is the server's reason. */
export interface MirrorPodApi {
  createPod(pod: Pod, signal: AbortSignal): Promise<unknown>;
  /** At once, and only if the pod has this UID. */
  deletePod(namespace: string, name: string, uid: string, signal: AbortSignal): Promise<unknown>;
}

/** The node in the API, as far as mirror pods need it. */
export interface MirrorPodOwner {
  readonly metadata: { readonly name?: string; readonly uid?: string; readonly deletionTimestamp?: string };
}

/** What {@link MirrorPods} work with. */
export interface MirrorPodsComponents {
  readonly api: MirrorPodApi;
  /** A {@link PodManager}. */
  readonly pods: {
    getPodByFullName(fullName: string): Pod | undefined;
    getMirrorPodByFullName(fullName: string): Pod | undefined;
  };
  /** The node's object; `undefined` before it is registered: a mirror pod belongs to it. */
  readonly node: () => MirrorPodOwner | undefined;
  /**
   * Whether a static pod of this full name is being ended, or another than the one of UID `next` still runs (the pod workers
   * know). `next` is what the mirror pod is to show; `undefined` where there is no static pod any more.
   */
  readonly isTerminating: (fullName: string, next: string | undefined) => boolean;
  /** Whether all pod sources have spoken (F1). */
  readonly sourcesReady: () => boolean;
  /** The machine's own where absent. */
  readonly clock?: Clock;
  /** Silent where absent. */
  readonly logger?: Logger;
}

/** What the node waits for passes soon: its registration, the end of a pod. */
const WAIT_MS = 1000;
const FIRST_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 10_000;
/** What was done is to be seen in the watch by then; else the API server has lost it before the watch could show it. */
const SEEN_MS = 10_000;

/** How often in a row the watch may be found behind before it is worth a line: another pod has the name. */
const TOLD_AFTER = 4;

/** What came of a look. `behind`: the API server has something else than what the watch has shown so far. */
type Outcome = 'settled' | 'done' | 'behind' | 'waiting';

/**
 * Keeps one mirror pod in the API for each static pod, so that the cluster sees it. It works beside the pods' own steps: an API
 * server that is slow or away delays no static pod (K3). A failure is tried again for ever. Source: `pkg/kubelet/pod/mirror_client.go`
 * and `tryReconcileMirrorPods` in `pkg/kubelet/kubelet.go`.
 */
export class MirrorPods {
  readonly #components: WithDefaults<MirrorPodsComponents>;
  readonly #queue: WorkQueue<string>;
  /** The tries, by full name, and whether something has happened to it since. */
  readonly #underWay = new Map<string, { again: boolean }>();
  /** Tries that failed, and tries that found the watch behind, each in a row, by full name. */
  readonly #failures = new Map<string, number>();
  readonly #behind = new Map<string, number>();
  /** The UIDs of mirror pods in whose place others are wanted, by full name. */
  readonly #unfit = new Map<string, string>();
  readonly #startOnce = new StartOnce('MirrorPods');

  constructor(given: MirrorPodsComponents) {
    checkComponents('MirrorPods', given, {
      api: ['createPod', 'deletePod'],
      pods: ['getPodByFullName', 'getMirrorPodByFullName'],
      node: 'function',
      isTerminating: 'function',
      sourcesReady: 'function',
    });
    const components = withDefaults(given);
    this.#components = components;
    this.#queue = new WorkQueue(components);
  }

  /** Something happened to a static pod or a mirror pod of this full name. Never blocks. */
  look(fullName: string): void {
    if (!this.#failures.has(fullName)) this.#queue.enqueue(fullName, 0);
  }

  /** This mirror pod cannot show what its static pod does now, as that has begun anew: another takes its place. Never blocks. */
  replace(fullName: string, mirrorUid: string): void {
    this.#unfit.set(fullName, mirrorUid);
    this.look(fullName);
  }

  /** Works until `signal` is aborted, on each pod by itself: one whose admission hangs holds up no other. */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    const tries = new TaskGroup(signal);
    tries.add(async (ending) => {
      for (;;) {
        const fullName = await this.#queue.take(ending);
        if (fullName === undefined) return;
        const underWay = this.#underWay.get(fullName);
        if (underWay === undefined) tries.add((trying) => this.#try(fullName, trying));
        else underWay.again = true;
      }
    });
    await tries.ended();
  }

  async #try(fullName: string, signal: AbortSignal): Promise<void> {
    const own = { again: false };
    this.#underWay.set(fullName, own);
    const delayMs = await this.#reconcile(fullName, signal).finally(() => this.#underWay.delete(fullName));
    if (delayMs !== undefined) this.#queue.enqueueNoLater(fullName, delayMs);
    if (own.again) this.look(fullName);
  }

  /** One try. @returns in how many milliseconds to look again; `undefined`: when something happens */
  async #reconcile(fullName: string, signal: AbortSignal): Promise<number | undefined> {
    const { pods, isTerminating, sourcesReady, logger } = this.#components;
    const staticPod = pods.getPodByFullName(fullName);
    const mirrorPod = pods.getMirrorPodByFullName(fullName);
    const unfit = mirrorPod !== undefined && mirrorPod.metadata.uid === this.#unfit.get(fullName);
    if (!unfit) this.#unfit.delete(fullName);
    const facts = {
      terminating: isTerminating(fullName, staticPod?.metadata.uid),
      unfit,
      sourcesReady: sourcesReady(),
    };
    const step = mirrorStep({ staticPod, mirrorPod, ...facts });
    let outcome: Outcome;
    try {
      outcome = await this.#do(step, staticPod, mirrorPod, signal);
    } catch (error) {
      signal.throwIfAborted();
      const delayMs = longerPauseMs(this.#failures, fullName);
      const failures = this.#failures.get(fullName);
      logger.error({ err: error, pod: fullName, step, failures }, 'Failed to reconcile the mirror pod of a static pod');
      return delayMs;
    }
    this.#failures.delete(fullName);
    if (outcome === 'behind') {
      const delayMs = longerPauseMs(this.#behind, fullName);
      if (this.#behind.get(fullName) === TOLD_AFTER) {
        logger.warn({ pod: fullName, step }, 'Another pod of its name is in the way of a mirror pod');
      }
      return delayMs;
    }
    this.#behind.delete(fullName);
    return outcome === 'settled' ? undefined : outcome === 'done' ? SEEN_MS : WAIT_MS;
  }

  async #do(
    step: MirrorStep,
    staticPod: Pod | undefined,
    mirrorPod: Pod | undefined,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const { api, logger } = this.#components;
    if (step === 'none') return 'settled';
    if (step === 'wait') return 'waiting';
    if (mirrorPod !== undefined) {
      const { namespace, name, uid } = mirrorPod.metadata;
      logger.info({ pod: podFullName(mirrorPod), podUid: uid, step }, 'Deleting a mirror pod');
      const deleted = await succeeds(api.deletePod(namespace, name, uid, signal), ['NotFound', 'Conflict']);
      // Another took its place: the watch is about to show it.
      if (!deleted) return 'behind';
    }
    if (step === 'delete' || staticPod === undefined) return 'done';
    return await this.#create(staticPod, signal);
  }

  async #create(staticPod: Pod, signal: AbortSignal): Promise<Outcome> {
    const { api, node, logger } = this.#components;
    const { name, uid, deletionTimestamp } = node()?.metadata ?? {};
    if (name === undefined || uid === undefined || deletionTimestamp != null) return 'waiting';
    // One that is there already is either this very one, which the watch is about to show, or in the way for now.
    const created = await succeeds(api.createPod(mirrorPodOf(staticPod, { name, uid }), signal), ['AlreadyExists']);
    if (!created) return 'behind';
    logger.info({ pod: podFullName(staticPod) }, 'Created a mirror pod for a static pod');
    return 'done';
  }
}

/** Counts one more, and says how long to wait after it. */
function longerPauseMs(counts: Map<string, number>, fullName: string): number {
  const count = (counts.get(fullName) ?? 0) + 1;
  counts.set(fullName, count);
  return Math.min(FIRST_RETRY_MS * 2 ** (count - 1), LONGEST_RETRY_MS);
}

/** @returns whether it did; false for an error of one of the codes */
async function succeeds(request: Promise<unknown>, codes: readonly string[]): Promise<boolean> {
  try {
    await request;
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && codes.some((code) => code === error.code)) return false;
    throw error;
  }
}
