import { type Clock, checkComponents, StartOnce, TaskGroup, WorkQueue } from '@node-agent/async';
import { type Pod, podFullName } from '@node-agent/pod-spec';
import { type Logger, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { type MirrorStep, mirrorPodOf, mirrorStep } from './mirror-rules.ts';

/**
 * Requests to the API server that mirror pods need. A failed request throws an error whose `code` is the server's
 * reason.
 */
export interface MirrorPodApi {
  createPod(pod: Pod, signal: AbortSignal): Promise<unknown>;
  /** Deletes the pod immediately, only if it has this UID. */
  deletePod(namespace: string, name: string, uid: string, signal: AbortSignal): Promise<unknown>;
}

/** The part of the Node object that mirror pods need. */
export interface MirrorPodOwner {
  readonly metadata: { readonly name?: string; readonly uid?: string; readonly deletionTimestamp?: string };
}

/** Components of {@link MirrorPods}. */
export interface MirrorPodsComponents {
  readonly api: MirrorPodApi;
  /** The pods that the node should run, as {@link PodManager} returns them. */
  readonly pods: {
    getPodByFullName(fullName: string): Pod | undefined;
    getMirrorPodByFullName(fullName: string): Pod | undefined;
  };
  /** Returns the Node object, which owns mirror pods; `undefined` before the node is registered. */
  readonly node: () => MirrorPodOwner | undefined;
  /**
   * Returns whether a static pod of this full name is terminating, or a pod other than `next` still runs, as the pod
   * workers know. `next` is the UID of the static pod that the mirror pod will represent; `undefined` if there is no
   * static pod any more.
   */
  readonly isTerminating: (fullName: string, next: string | undefined) => boolean;
  /** Returns whether all pod sources have reported (F1). */
  readonly sourcesReady: () => boolean;
  /** Default: the system clock. */
  readonly clock?: Clock;
  /** Default: no logging. */
  readonly logger?: Logger;
}

/** Delay while the node waits for something that happens soon: its registration, or the termination of a pod. */
const WAIT_MS = 1000;
const FIRST_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 10_000;
/**
 * Time within which the watch shows a completed request. Otherwise the API server has lost the change before the watch
 * could show it.
 */
const SEEN_MS = 10_000;

/**
 * Number of consecutive attempts with an outdated watch after which a warning is logged, because another pod probably
 * has the name.
 */
const TOLD_AFTER = 4;

/** Outcome of an attempt. `behind`: the API server has an object that the watch has not shown yet. */
type Outcome = 'settled' | 'done' | 'behind' | 'waiting';

/**
 * Keeps one mirror pod in the API for each static pod, so that the cluster can see the static pod. Runs independently
 * of the pods' own steps: a slow or unavailable API server delays no static pod (K3). Failed requests are retried
 * forever. Upstream: `pkg/kubelet/pod/mirror_client.go` and `tryReconcileMirrorPods` in `pkg/kubelet/kubelet.go`.
 */
export class MirrorPods {
  readonly #components: WithDefaults<MirrorPodsComponents>;
  readonly #queue: WorkQueue<string>;
  /** Attempts in progress by full name, and whether another check was requested since the attempt started. */
  readonly #underWay = new Map<string, { again: boolean }>();
  /** Consecutive failed attempts, and consecutive attempts with an outdated watch, by full name. */
  readonly #failures = new Map<string, number>();
  readonly #behind = new Map<string, number>();
  /** UIDs of mirror pods that must be replaced, by full name. */
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

  /** Checks the mirror pod of this full name, after a change of the static pod or the mirror pod. Never blocks. */
  reconcile(fullName: string): void {
    if (!this.#failures.has(fullName)) this.#queue.enqueue(fullName, 0);
  }

  /**
   * Replaces a mirror pod that cannot show the status of its static pod, because the static pod was restarted. Never
   * blocks.
   */
  replace(fullName: string, mirrorUid: string): void {
    this.#unfit.set(fullName, mirrorUid);
    this.reconcile(fullName);
  }

  /**
   * Reconciles mirror pods until `signal` is aborted. Each full name is reconciled independently, so a request that
   * hangs delays no other.
   */
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
    if (own.again) this.reconcile(fullName);
  }

  /**
   * Performs one attempt.
   * @returns the delay until the next check in milliseconds; `undefined` if the next change triggers it
   */
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
      logger.error({ err: error, pod: fullName, step, failures }, 'Failed to reconcile mirror pod');
      return delayMs;
    }
    this.#failures.delete(fullName);
    if (outcome === 'behind') {
      const delayMs = longerPauseMs(this.#behind, fullName);
      if (this.#behind.get(fullName) === TOLD_AFTER) {
        logger.warn({ pod: fullName, step }, 'Mirror pod is blocked by another pod of the same name');
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
      logger.info({ pod: podFullName(mirrorPod), podUid: uid, step }, 'Deleting mirror pod');
      const deleted = await succeeds(api.deletePod(namespace, name, uid, signal), ['NotFound', 'Conflict']);
      // Another pod has taken the name, and the watch will show that pod soon.
      if (!deleted) return 'behind';
    }
    if (step === 'delete' || staticPod === undefined) return 'done';
    return await this.#create(staticPod, signal);
  }

  async #create(staticPod: Pod, signal: AbortSignal): Promise<Outcome> {
    const { api, node, logger } = this.#components;
    const { name, uid, deletionTimestamp } = node()?.metadata ?? {};
    if (name === undefined || uid === undefined || deletionTimestamp != null) return 'waiting';
    // An existing pod is either the mirror pod itself, which the watch will show soon, or another pod that blocks the
    // name for now.
    const created = await succeeds(api.createPod(mirrorPodOf(staticPod, { name, uid }), signal), ['AlreadyExists']);
    if (!created) return 'behind';
    logger.info({ pod: podFullName(staticPod) }, 'Created mirror pod');
    return 'done';
  }
}

/** Increments the count of a full name, and returns the delay before the next attempt. */
function longerPauseMs(counts: Map<string, number>, fullName: string): number {
  const count = (counts.get(fullName) ?? 0) + 1;
  counts.set(fullName, count);
  return Math.min(FIRST_RETRY_MS * 2 ** (count - 1), LONGEST_RETRY_MS);
}

/** Returns true if the request succeeds, and false if it fails with one of `codes`. Other errors are thrown. */
async function succeeds(request: Promise<unknown>, codes: readonly string[]): Promise<boolean> {
  try {
    await request;
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && codes.some((code) => code === error.code)) return false;
    throw error;
  }
}
