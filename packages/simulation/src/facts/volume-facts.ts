import type { Observation } from '../observation.ts';
import type { NodePlan } from '../scenario/actions.ts';
import type { PodPlan } from '../scenario/plans.ts';
import { uniqueName } from '../scenario/volume-objects.ts';
import type { CsiCall } from '../world/csi-driver.ts';
import type { CsiPlace } from '../world/csi-drivers.ts';

/** A call of a CSI driver that is in progress. */
export interface RunningCall {
  readonly call: CsiCall;
  /** Number of the kubelet process that made the call. */
  readonly kubelet: number;
}

/**
 * States of CSI volumes: staged and published according to their drivers, attached according to the attach controller.
 */
export class VolumeFacts {
  readonly #attachable: ReadonlySet<string>;
  readonly #staged = new Map<string, string>();
  readonly #published = new Map<string, string>();
  readonly #attached = new Set<string>();
  readonly #running = new Map<CsiCall, RunningCall>();
  /** Volumes with the paths at which the running kubelet knows that they are staged or published. */
  readonly #known = new Set<string>();
  /** Paths at which a driver has confirmed that it published a volume, without an unpublish call since. */
  readonly #confirmed = new Set<string>();
  #inUse: readonly string[] | undefined;
  /** Time until which a driver may hang or be unreachable; -1 if no driver ever was. */
  troubledUntilMs = -1;
  /** Time at which the API server last lost its store; -1 if the server never did. */
  wipedAtMs = -1;

  constructor({ csi }: NodePlan) {
    const attaching = new Set(csi?.drivers.filter(({ attach }) => attach).map(({ name }) => name));
    this.#attachable = new Set(csi?.volumes.filter(({ driver }) => attaching.has(driver)).map(({ name }) => name));
  }

  /** The calls of CSI drivers that are in progress. */
  get running(): readonly RunningCall[] {
    return [...this.#running.values()];
  }

  /** The staged volumes that a controller attaches. */
  get attachableStaged(): readonly CsiPlace[] {
    const staged = [...this.#staged].map(([volume, path]) => ({ volume, path }));
    return staged.filter(({ volume }) => this.#attachable.has(volume));
  }

  /** The names in `volumesInUse` of the node's status in the API; `undefined` if the node is not registered. */
  get inUse(): readonly string[] | undefined {
    return this.#inUse;
  }

  isAttachable(volume: string): boolean {
    return this.#attachable.has(volume);
  }

  isAttached(volume: string): boolean {
    return this.#attached.has(volume);
  }

  /** Returns the path at which the volume is staged. */
  stagedAt(volume: string): string | undefined {
    return this.#staged.get(volume);
  }

  /** Returns the paths at which the volume is published. */
  publishedAt(volume: string): readonly string[] {
    return [...this.#published].filter(([, published]) => published === volume).map(([path]) => path);
  }

  /** Returns the volumes that are published to a pod, with their paths. */
  inPod(uid: string): readonly CsiPlace[] {
    const places = [...this.#published].map(([path, volume]) => ({ volume, path }));
    return places.filter(({ path }) => podOfPath(path) === uid);
  }

  /**
   * Reports whether the kubelet has learned that the volume was staged or published at this path, and has not unstaged
   * or unpublished the volume since.
   */
  isKnown({ call, volume, path }: Pick<CsiCall, 'call' | 'volume' | 'path'>): boolean {
    return this.#known.has(`${call === 'stage' ? 'stage' : 'publish'} ${volume} ${path}`);
  }

  /**
   * Reports whether a driver has confirmed that it published a volume at the path, and no unpublish call has started
   * since.
   */
  isConfirmed(path: string): boolean {
    return this.#confirmed.has(path);
  }

  /** Updates the facts about volumes. Must be called before the invariants judge the observation. */
  observe(observation: Observation): void {
    switch (observation.kind) {
      case 'csiCall':
        this.#onCall(observation);
        return;
      case 'kubeletStarted':
        this.#known.clear();
        return;
      case 'attachment':
        if (observation.attached) this.#attached.add(observation.volume);
        else this.#attached.delete(observation.volume);
        return;
      case 'volumesInUse':
        this.#inUse = observation.names;
        return;
      case 'poweredOff':
        for (const all of [this.#staged, this.#published, this.#running, this.#known, this.#confirmed]) all.clear();
        return;
      case 'action':
        this.#onAction(observation);
        return;
      default:
    }
  }

  #onAction({ action, atMs }: Extract<Observation, { kind: 'action' }>): void {
    if (action.do === 'apiWipe') this.wipedAtMs = atMs;
    if (action.do === 'csiFault') this.troubledUntilMs = Math.max(this.troubledUntilMs, atMs + action.forMs);
    if (action.do === 'restartCsi') this.troubledUntilMs = Math.max(this.troubledUntilMs, atMs + action.downMs);
  }

  #onCall({ call, phase, code, kubelet }: Extract<Observation, { kind: 'csiCall' }>): void {
    const { volume, path } = call;
    const place = `${call.call === 'stage' || call.call === 'unstage' ? 'stage' : 'publish'} ${volume} ${path}`;
    if (phase === 'began') {
      this.#running.set(call, { call, kubelet });
      if (call.call === 'unstage' || call.call === 'unpublish') this.#known.delete(place);
      if (call.call === 'unpublish') this.#confirmed.delete(path);
    } else if (phase === 'acted') this.#onActed(call);
    else if (phase === 'answered' || phase === 'abandoned') {
      const isOurs = this.#running.get(call)?.kubelet === kubelet;
      this.#running.delete(call);
      if (phase !== 'answered' || code !== 'OK') return;
      if (call.call === 'publish') this.#confirmed.add(path);
      if (isOurs && (call.call === 'stage' || call.call === 'publish')) this.#known.add(place);
    }
  }

  #onActed({ call, volume, path }: CsiCall): void {
    if (call === 'stage') this.#staged.set(volume, path);
    if (call === 'unstage') this.#staged.delete(volume);
    if (call === 'publish') this.#published.set(path, volume);
    if (call === 'unpublish') this.#published.delete(path);
  }
}

/** Returns the UID of the pod to which a volume is published at this path. */
export function podOfPath(path: string): string | undefined {
  const [, mounted] = /\/pods\/([^/]+)\/volumes\//.exec(path) ?? [];
  const [, device] = /\/volumeDevices\/publish\/[^/]+\/([^/]+)$/.exec(path) ?? [];
  return mounted ?? device;
}

/** Returns the number of CSI volumes that containers of a pod use. */
export function volumeCount({ csi = [], inlineCsi = [] }: PodPlan): number {
  return csi.length + inlineCsi.length;
}

/** Returns the staged volumes that are missing in `volumesInUse`. */
export function unreported(
  staged: readonly CsiPlace[],
  inUse: readonly string[],
  plan: NodePlan['csi'],
): readonly string[] {
  const names = new Map(plan?.volumes.map((volume) => [volume.name, uniqueName(volume)]));
  return staged.map(({ volume }) => volume).filter((volume) => !inUse.includes(names.get(volume) ?? ''));
}
