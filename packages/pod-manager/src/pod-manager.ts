import { checkComponents } from '@node-agent/async';
import { isMirrorPod, isStaticPod, type Pod, podFullName } from '@node-agent/pod-spec';

/** A pod and its mirror pod; see {@link PodManager.getPodAndMirrorPod}. */
export interface PodAndMirrorPod {
  /** The pod that runs here; absent for a mirror pod whose static pod is not known. */
  readonly pod: Pod | undefined;
  /** The mirror pod in the API, if there is one. */
  readonly mirrorPod: Pod | undefined;
  /** Whether the requested pod is the mirror pod. */
  readonly wasMirror: boolean;
}

/** All known pods; see {@link PodManager.getPodsAndMirrorPods}. */
export interface PodsAndMirrorPods {
  readonly pods: readonly Pod[];
  readonly mirrorPods: readonly Pod[];
  /** Full names of mirror pods without a static pod. */
  readonly orphanedMirrorPodFullNames: readonly string[];
}

/** Optional components of {@link PodManager}. */
export interface PodManagerComponents {
  /**
   * Called with the number of pods, without mirror pods, whenever it changes from its previous value, which is
   * initially 0.
   */
  readonly onCountChanged?: (pods: number) => void;
}

/**
 * Pods that this node should run, by UID and full name, and the mirror pods of static pods
 * (`pkg/kubelet/pod/pod_manager.go`). The pod manager knows which pods are desired, not which pods run; for that, ask
 * the pod workers (P5).
 *
 * A mirror pod has the name and namespace of its static pod, but its own UID. In this class, "pod" means any pod except
 * mirror pods. Two pods of one full name may be known for a while (P4); the name then refers to the pod added last.
 */
export class PodManager {
  #podByUid = new Map<string, Pod>();
  #podByFullName = new Map<string, Pod>();
  /** UIDs of the pods of each full name, in order of arrival. */
  #uidsByFullName = new Map<string, Set<string>>();
  #mirrorPodByUid = new Map<string, Pod>();
  #mirrorPodByFullName = new Map<string, Pod>();
  /** UID of the static pod by UID of the mirror pod. */
  #translations = new Map<string, string>();
  readonly #onCountChanged: (pods: number) => void;
  #toldCount = 0;

  constructor(components: PodManagerComponents = {}) {
    checkComponents('PodManager', components, {});
    const { onCountChanged = () => {} } = components;
    this.#onCountChanged = onCountChanged;
  }

  /** Replaces all known pods and mirror pods by the given ones. */
  setPods(pods: readonly Pod[]): void {
    this.#podByUid = new Map();
    this.#podByFullName = new Map();
    this.#uidsByFullName = new Map();
    this.#mirrorPodByUid = new Map();
    this.#mirrorPodByFullName = new Map();
    this.#translations = new Map();
    for (const pod of pods) this.#take(pod);
    this.#tellCount();
  }

  /** Same as {@link updatePod}. */
  addPod(pod: Pod): void {
    this.updatePod(pod);
  }

  /** Adds or replaces a pod or mirror pod. */
  updatePod(pod: Pod): void {
    this.#take(pod);
    this.#tellCount();
  }

  #take(pod: Pod): void {
    const fullName = podFullName(pod);
    const { uid } = pod.metadata;
    if (isMirrorPod(pod)) {
      this.#mirrorPodByUid.set(uid, pod);
      this.#mirrorPodByFullName.set(fullName, pod);
      const own = this.#podByFullName.get(fullName);
      if (own !== undefined) this.#translations.set(uid, own.metadata.uid);
    } else {
      this.#podByUid.set(uid, pod);
      this.#podByFullName.set(fullName, pod);
      const uids = this.#uidsByFullName.get(fullName);
      if (uids === undefined) this.#uidsByFullName.set(fullName, new Set([uid]));
      else uids.add(uid);
      const mirror = this.#mirrorPodByFullName.get(fullName);
      if (mirror !== undefined) this.#translations.set(mirror.metadata.uid, uid);
    }
  }

  /** Removes a pod or mirror pod. Another pod of the same full name stays, and the name then refers to it. */
  removePod(pod: Pod): void {
    const fullName = podFullName(pod);
    const { uid } = pod.metadata;
    if (isMirrorPod(pod)) {
      this.#mirrorPodByUid.delete(uid);
      deleteIfUid(this.#mirrorPodByFullName, fullName, uid);
      this.#translations.delete(uid);
    } else {
      this.#podByUid.delete(uid);
      deleteIfUid(this.#podByFullName, fullName, uid);
      const uids = this.#uidsByFullName.get(fullName);
      uids?.delete(uid);
      if (uids?.size === 0) this.#uidsByFullName.delete(fullName);
      const other = this.#podByUid.get([...(uids ?? [])].at(-1) ?? '');
      if (other !== undefined) this.#podByFullName.set(fullName, other);
    }
    this.#tellCount();
  }

  #tellCount(): void {
    const { size } = this.#podByUid;
    if (size === this.#toldCount) return;
    this.#toldCount = size;
    this.#onCountChanged(size);
  }

  /** Returns all pods, without mirror pods. */
  getPods(): Pod[] {
    return [...this.#podByUid.values()];
  }

  /** Returns all mirror pods. */
  getMirrorPods(): Pod[] {
    return [...this.#mirrorPodByUid.values()];
  }

  /** Returns all pods, all mirror pods, and the full names of the mirror pods without a static pod. */
  getPodsAndMirrorPods(): PodsAndMirrorPods {
    return {
      pods: this.getPods(),
      mirrorPods: this.getMirrorPods(),
      orphanedMirrorPodFullNames: [...this.#mirrorPodByFullName.keys()].filter(
        (name) => !this.#podByFullName.has(name),
      ),
    };
  }

  /** Returns the pod with this UID. UIDs of mirror pods must be converted with {@link translatePodUid} first. */
  getPodByUid(uid: string): Pod | undefined {
    return this.#podByUid.get(uid);
  }

  /** Returns the pod of this `name_namespace`. */
  getPodByFullName(fullName: string): Pod | undefined {
    return this.#podByFullName.get(fullName);
  }

  getPodByName(namespace: string, name: string): Pod | undefined {
    return this.#podByFullName.get(`${name}_${namespace}`);
  }

  /** Returns the mirror pod of this `name_namespace`. */
  getMirrorPodByFullName(fullName: string): Pod | undefined {
    return this.#mirrorPodByFullName.get(fullName);
  }

  /** Returns the static pod of a mirror pod. */
  getPodByMirrorPod(mirrorPod: Pod): Pod | undefined {
    return this.#podByFullName.get(podFullName(mirrorPod));
  }

  /** Returns the mirror pod of a static pod. */
  getMirrorPodByPod(pod: Pod): Pod | undefined {
    return this.#mirrorPodByFullName.get(podFullName(pod));
  }

  /** Returns the static pod together with its mirror pod, given either of the two. Any other pod has no mirror pod. */
  getPodAndMirrorPod(pod: Pod): PodAndMirrorPod {
    const fullName = podFullName(pod);
    return isMirrorPod(pod)
      ? { pod: this.#podByFullName.get(fullName), mirrorPod: pod, wasMirror: true }
      : { pod, mirrorPod: this.#mirrorPodByFullName.get(fullName), wasMirror: false };
  }

  /**
   * Returns each static pod with its mirror pod; `undefined` until the mirror pod is created. Without an API server, no
   * mirror pod is created.
   */
  getStaticPodToMirrorPodMap(): Map<Pod, Pod | undefined> {
    const statics = this.getPods().filter(isStaticPod);
    return new Map(statics.map((pod) => [pod, this.#mirrorPodByFullName.get(podFullName(pod))]));
  }

  /**
   * Returns the UID under which the kubelet knows a pod: for a mirror pod, the UID of its static pod; any other UID
   * unchanged.
   */
  translatePodUid(uid: string): string {
    return this.#translations.get(uid) ?? uid;
  }

  /** Returns the UID pairs of static pods and mirror pods; `undefined` for a static pod without a mirror pod. */
  getUidTranslations(): {
    readonly podToMirror: ReadonlyMap<string, string | undefined>;
    readonly mirrorToPod: ReadonlyMap<string, string>;
  } {
    const podToMirror = new Map<string, string | undefined>();
    for (const pod of this.#podByUid.values()) if (isStaticPod(pod)) podToMirror.set(pod.metadata.uid, undefined);
    for (const [mirror, pod] of this.#translations) podToMirror.set(pod, mirror);
    return { podToMirror, mirrorToPod: new Map(this.#translations) };
  }
}

function deleteIfUid(byName: Map<string, Pod>, fullName: string, uid: string): void {
  if (byName.get(fullName)?.metadata.uid === uid) byName.delete(fullName);
}
