import type { Clock } from '@node-agent/async';
import {
  type Container,
  CriError,
  type PodSandbox,
  PodSandboxState,
  type PodSandboxStatus,
  type RuntimeService,
} from '@node-agent/cri-client';
import type { FileSystem, ForeignFiles } from '@node-agent/host';
import {
  cpuMemory,
  type RuntimeContainer,
  type RuntimeContainerStatus,
  type RuntimePod,
  type RuntimePodStatus,
  type RuntimeSandboxStatus,
} from '@node-agent/pod-spec';
import { criLabels, parseContainerLabels } from '../config/labels.ts';
import { containerFilesPath } from '../config/termination-file.ts';
import { PodRuntimeError } from '../errors.ts';
import { type ContainerNotes, withNote } from '../reconcile/container-notes.ts';
import type { AppliedResources } from '../resize/applied-resources.ts';
import { ContainerSandboxes } from './container-sandboxes.ts';
import { podsBeyondLabels, toRuntimePods } from './runtime-pods.ts';
import { toContainerStatus, toRuntimePodStatus, toSandboxStatus } from './status.ts';
import { isFinalMessage, joinMessages, readTerminationMessage } from './termination-message.ts';

export interface PodStatusReaderComponents {
  readonly cri: Pick<RuntimeService, 'listPodSandbox' | 'podSandboxStatus' | 'listContainers' | 'containerStatus'>;
  readonly fs: Pick<FileSystem, 'open' | 'openBeneath'>;
  /**
   * Access to files on volumes, to which a container may write its termination message. The file systems of volumes may
   * hang. Absent if no file system can hang.
   */
  readonly foreignFiles?: Pick<ForeignFiles, 'lstat'> | undefined;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Last applied resources, for values that runtimes do not report; absent if they are not recorded. */
  readonly applied?: Pick<AppliedResources, 'appliedToContainer'> | undefined;
  /** Notes about unfinished work on containers. If absent, the reader adds no notes to the status. */
  readonly notes?: Pick<ContainerNotes, 'read'> | undefined;
}

/**
 * Reads the complete runtime status of one pod (`GetPodStatus` in `pkg/kubelet/kuberuntime/kuberuntime_manager.go`).
 */
export class PodStatusReader {
  readonly #components: PodStatusReaderComponents;
  readonly #rootDirectory: string;
  /**
   * Ready sandboxes with addresses, by pod and ID. These sandboxes are cached, because nothing about them changes until
   * they are no longer ready.
   */
  readonly #ready = new Map<string, ReadonlyMap<string, RuntimeSandboxStatus>>();
  /** UIDs of the pods that a list by label shows incompletely. */
  readonly #beyondLabels = new Set<string>();

  /**
   * Exited containers with their final message, by pod and ID. These containers are cached, because nothing about them
   * changes any more.
   */
  readonly #ended = new Map<string, Map<string, RuntimeContainerStatus>>();
  readonly #placed = new ContainerSandboxes();

  /** @param options the kubelet's root directory: files of containers below this directory are not on a volume */
  constructor(components: PodStatusReaderComponents, { rootDirectory = '' }: { readonly rootDirectory?: string } = {}) {
    this.#components = components;
    this.#rootDirectory = rootDirectory;
  }

  /**
   * Reads the runtime status of one pod.
   * @throws CriError
   * @throws PodRuntimeError `BadAnswer`
   */
  async read(uid: string, name: string, namespace: string, signal?: AbortSignal): Promise<RuntimePodStatus> {
    // The runtime is queried after this time, so the status is at least as new.
    const observedAtMs = this.#components.clock.monotonic();
    const { whole, listed, containers } = await this.#list(uid, signal);
    // A sandbox without an ID or a pod UID fails the read: if it were ignored, its containers would seem to have no
    // sandbox and would be killed.
    const isNameless = ({ id, metadata }: PodSandbox): boolean => id === '' || !metadata?.uid;
    if (listed.some((sandbox) => isNameless(sandbox) && (!whole || sandbox.labels[criLabels.podUid] === uid))) {
      throw new PodRuntimeError('BadAnswer', `a sandbox of pod ${uid} is listed without ID or metadata`);
    }
    const items = listed.filter(({ metadata }) => metadata?.uid === uid);
    const pod = toRuntimePods(items, containers).find((candidate) => candidate.uid === uid);
    const { notes } = this.#components;
    const [sandboxes, statuses, noted] = await Promise.all([
      this.#sandboxes(uid, items, signal),
      Promise.all((pod?.containers ?? []).map((container) => this.#container(uid, container, signal))),
      pod !== undefined && pod.containers.length > 0 ? notes?.read(uid) : undefined,
    ]);
    this.#retainContainers(uid, containers);
    this.#placed.seen(uid, sandboxes, statuses.flat());
    const identity = { uid, name: name || (pod?.name ?? ''), namespace: namespace || (pod?.namespace ?? '') };
    const withNotes = statuses.flat().map((status) => withNote(status, noted?.get(status.name)));
    const removed = this.#placed.without(uid, withNotes);
    const status = toRuntimePodStatus(identity, sandboxes, withNotes, observedAtMs);
    return removed.size === 0 ? status : { ...status, removed };
  }

  /**
   * Lists the sandboxes and containers of one pod, without their statuses. Returns `undefined` if the runtime has none.
   * @throws CriError
   */
  async list(uid: string, signal?: AbortSignal): Promise<RuntimePod | undefined> {
    const { listed, containers } = await this.#list(uid, signal);
    return toRuntimePods(listed, containers).find((candidate) => candidate.uid === uid);
  }

  async #list(uid: string, signal: AbortSignal | undefined) {
    const { cri } = this.#components;
    const whole = this.#beyondLabels.has(uid);
    const request = whole ? {} : { filter: { labelSelector: { [criLabels.podUid]: uid } } };
    const [{ items: listed }, { containers }] = await Promise.all([
      cri.listPodSandbox(request, signal),
      cri.listContainers(request, signal),
    ]);
    if (whole && !podsBeyondLabels(listed, containers).has(uid)) this.#beyondLabels.delete(uid);
    return { whole, listed, containers };
  }

  /** Records which pods of a complete list are shown incompletely by a list by label. */
  listed(sandboxes: readonly PodSandbox[], containers: readonly Container[]): void {
    for (const uid of podsBeyondLabels(sandboxes, containers)) this.#beyondLabels.add(uid);
  }

  /**
   * Records whether a list by label shows the pod of a sandbox incompletely, like {@link listed}. The sandbox comes
   * from an event, and its pod may never have been in a list.
   */
  eventReceived(sandbox: Pick<PodSandboxStatus, 'metadata' | 'labels'>): void {
    const { uid = '' } = sandbox.metadata ?? {};
    if (uid !== '' && parseContainerLabels(sandbox.labels).podUid !== uid) this.#beyondLabels.add(uid);
  }

  /**
   * Reads a sandbox that was just created.
   * @throws CriError
   * @throws PodRuntimeError `BadAnswer`
   */
  async readSandbox(uid: string, id: string, signal?: AbortSignal): Promise<RuntimeSandboxStatus> {
    const sandbox = await this.#sandbox(id, signal);
    this.#remember(uid, [...(this.#ready.get(uid)?.values() ?? []), sandbox]);
    return sandbox;
  }

  /**
   * Returns the sandbox ID of a container that an earlier read has shown, even if the runtime has removed the
   * container's record since. Returns `undefined` if no read has shown the container.
   */
  sandboxOf(uid: string, containerId: string): string | undefined {
    return this.#placed.of(uid, containerId);
  }

  /** Drops the cached state of a pod that no longer exists. */
  forget(uid: string): void {
    this.#placed.forget(uid);
    this.#ready.delete(uid);
    this.#beyondLabels.delete(uid);
    this.#ended.delete(uid);
  }

  async #sandboxes(uid: string, items: readonly PodSandbox[], signal?: AbortSignal): Promise<RuntimeSandboxStatus[]> {
    const known = this.#ready.get(uid);
    const read = await Promise.all(
      items.map(({ id, state }) => {
        const ready = state === PodSandboxState.SANDBOX_READY ? known?.get(id) : undefined;
        return ready ?? unlessGone(this.#sandbox(id, signal));
      }),
    );
    const sandboxes = read.filter((sandbox) => sandbox !== undefined);
    this.#remember(uid, sandboxes);
    return sandboxes;
  }

  #remember(uid: string, sandboxes: readonly RuntimeSandboxStatus[]): void {
    const ready = sandboxes.filter(({ state, ips }) => state === 'ready' && ips.length > 0);
    if (ready.length > 0) this.#ready.set(uid, new Map(ready.map((sandbox) => [sandbox.id, sandbox])));
    else this.#ready.delete(uid);
  }

  async #sandbox(id: string, signal?: AbortSignal): Promise<RuntimeSandboxStatus> {
    const { status } = await this.#components.cri.podSandboxStatus({ podSandboxId: id }, signal);
    if (status === null) throw new PodRuntimeError('BadAnswer', 'pod sandbox status is nil');
    // If an unknown state counted as "not ready", all containers in the sandbox would be killed.
    if (!Object.values<number>(PodSandboxState).includes(status.state)) {
      throw new PodRuntimeError('BadAnswer', `pod sandbox ${id} is in an unknown state: ${status.state}`);
    }
    return toSandboxStatus(status);
  }

  async #container(
    uid: string,
    { id, sandboxId, state }: RuntimeContainer,
    signal?: AbortSignal,
  ): Promise<RuntimeContainerStatus[]> {
    const { cri, fs, foreignFiles } = this.#components;
    const known = state === 'exited' ? this.#ended.get(uid)?.get(id) : undefined;
    if (known !== undefined) return [known];
    const answer = await unlessGone(cri.containerStatus({ containerId: id }, signal));
    if (answer === undefined) return [];
    if (answer.status === null) throw new PodRuntimeError('BadAnswer', `container status of ${id} is nil`);
    const status = toContainerStatus(answer.status, sandboxId);
    if (status.state !== 'exited') return [this.#withApplied(uid, status)];
    const own = containerFilesPath(this.#rootDirectory, uid, '');
    const terminationMessage = await readTerminationMessage(fs, answer.status, async (path) => {
      if (!path.startsWith(own)) await foreignFiles?.lstat(path, signal);
    });
    const ended = { ...status, message: joinMessages(status.message, terminationMessage) };
    if (isFinalMessage(terminationMessage, answer.status)) {
      const all = this.#ended.get(uid) ?? new Map<string, RuntimeContainerStatus>();
      this.#ended.set(uid, all.set(id, ended));
    }
    return [ended];
  }

  /** Adds the last applied resources that the runtime does not report (`toKubeContainerStatus`). */
  #withApplied(uid: string, status: RuntimeContainerStatus): RuntimeContainerStatus {
    const applied = this.#components.applied?.appliedToContainer(uid, status.name);
    if (applied === undefined) return status;
    const { memoryRequestBytes, ...amounts } = cpuMemory(applied);
    const known = status.resources ?? amounts;
    return { ...status, resources: { ...known, ...(memoryRequestBytes > 0 && { memoryRequestBytes }) } };
  }

  /** Removes containers from the cache that the runtime no longer lists (K4). */
  #retainContainers(uid: string, listed: readonly { readonly id: string }[]): void {
    const ended = this.#ended.get(uid);
    if (ended === undefined) return;
    const ids = new Set(listed.map(({ id }) => id));
    for (const id of ended.keys()) if (!ids.has(id)) ended.delete(id);
    if (ended.size === 0) this.#ended.delete(uid);
  }
}

async function unlessGone<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (err) {
    if (CriError.from(err).code === 'NOT_FOUND') return undefined;
    throw err;
  }
}
