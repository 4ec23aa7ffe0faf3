import { checkComponents } from '@node-agent/async';
import { isMirrorPod, isStaticPod, type Pod, podFullName } from '@node-agent/pod-spec';

/** A pod with its other half; see {@link PodManager.getPodAndMirrorPod}. */
export interface PodAndMirrorPod {
  /** The pod that runs here; absent where a mirror pod was asked for whose static pod is not known. */
  readonly pod: Pod | undefined;
  /** The API server's shadow of it, if it has one. */
  readonly mirrorPod: Pod | undefined;
  /** Whether the pod that was asked for is the mirror. */
  readonly wasMirror: boolean;
}

/** What is known of all pods; see {@link PodManager.getPodsAndMirrorPods}. */
export interface PodsAndMirrorPods {
  readonly pods: readonly Pod[];
  readonly mirrorPods: readonly Pod[];
  /** Full names of mirror pods that have no static pod any more. */
  readonly orphanedMirrorPodFullNames: readonly string[];
}

/** Who {@link PodManager} tells. */
export interface PodManagerComponents {
  /** Told how many pods there are, mirror pods left out, whenever that is another number than before: 0 at first. Nobody is told where absent. */
  readonly onCountChanged?: (pods: number) => void;
}

/**
 * The pods that this node should run, by UID and by full name, and which mirror pod belongs to which static pod
 * (`pkg/kubelet/pod/pod_manager.go`). It says what is wanted, not what runs: for that, ask the pod workers (P5).
 *
 * A mirror pod has the name and the namespace of its static pod, but a UID of its own. "Pod" means any pod but mirror
 * pods here. Two pods of one full name may be known for a while (P4): the name then leads to the one that came last.
 */
export class PodManager {
  #podByUid = new Map<string, Pod>();
  #podByFullName = new Map<string, Pod>();
  /** The UIDs of the pods of each full name, the one that came last at the end. */
  #uidsByFullName = new Map<string, Set<string>>();
  #mirrorPodByUid = new Map<string, Pod>();
  #mirrorPodByFullName = new Map<string, Pod>();
  /** Mirror pod's UID to static pod's UID. */
  #translations = new Map<string, string>();
  readonly #onCountChanged: (pods: number) => void;
  #toldCount = 0;

  constructor(components: PodManagerComponents = {}) {
    checkComponents('PodManager', components, {});
    const { onCountChanged = () => {} } = components;
    this.#onCountChanged = onCountChanged;
  }

  /** Forgets all pods and takes these, mirror pods among them. */
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

  /** The same as {@link updatePod}. */
  addPod(pod: Pod): void {
    this.updatePod(pod);
  }

  /** Takes a pod or mirror pod, or a new version of one. */
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

  /** Forgets a pod or mirror pod. A pod of the same full name but another UID stays known, and is found by the name. */
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

  /** All pods, without mirror pods. */
  getPods(): Pod[] {
    return [...this.#podByUid.values()];
  }

  /** All mirror pods. */
  getMirrorPods(): Pod[] {
    return [...this.#mirrorPodByUid.values()];
  }

  /** All pods, all mirror pods, and which mirror pods have lost their static pod. */
  getPodsAndMirrorPods(): PodsAndMirrorPods {
    return {
      pods: this.getPods(),
      mirrorPods: this.getMirrorPods(),
      orphanedMirrorPodFullNames: [...this.#mirrorPodByFullName.keys()].filter(
        (name) => !this.#podByFullName.has(name),
      ),
    };
  }

  /** The pod of this UID; a mirror pod's UID finds nothing ({@link translatePodUid} first). */
  getPodByUid(uid: string): Pod | undefined {
    return this.#podByUid.get(uid);
  }

  /** The pod of this `name_namespace`. */
  getPodByFullName(fullName: string): Pod | undefined {
    return this.#podByFullName.get(fullName);
  }

  getPodByName(namespace: string, name: string): Pod | undefined {
    return this.#podByFullName.get(`${name}_${namespace}`);
  }

  /** The mirror pod of this `name_namespace`. */
  getMirrorPodByFullName(fullName: string): Pod | undefined {
    return this.#mirrorPodByFullName.get(fullName);
  }

  /** The static pod that a mirror pod stands for. */
  getPodByMirrorPod(mirrorPod: Pod): Pod | undefined {
    return this.#podByFullName.get(podFullName(mirrorPod));
  }

  /** The mirror pod that stands for a static pod. */
  getMirrorPodByPod(pod: Pod): Pod | undefined {
    return this.#mirrorPodByFullName.get(podFullName(pod));
  }

  /** Both halves of a static pod, whichever of them is given; any other pod has no second half. */
  getPodAndMirrorPod(pod: Pod): PodAndMirrorPod {
    const fullName = podFullName(pod);
    return isMirrorPod(pod)
      ? { pod: this.#podByFullName.get(fullName), mirrorPod: pod, wasMirror: true }
      : { pod, mirrorPod: this.#mirrorPodByFullName.get(fullName), wasMirror: false };
  }

  /** Each static pod with its mirror pod; `undefined` until that is made, and for ever without an API server. */
  getStaticPodToMirrorPodMap(): Map<Pod, Pod | undefined> {
    const statics = this.getPods().filter(isStaticPod);
    return new Map(statics.map((pod) => [pod, this.#mirrorPodByFullName.get(podFullName(pod))]));
  }

  /** The UID under which the kubelet knows a pod: of a mirror pod, its static pod's; any other UID is returned as it is. */
  translatePodUid(uid: string): string {
    return this.#translations.get(uid) ?? uid;
  }

  /** All pairs of UIDs of static pods and mirror pods; a static pod without a mirror has `undefined`. */
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
