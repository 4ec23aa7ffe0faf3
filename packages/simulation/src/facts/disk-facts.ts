import type { Observation } from '../observation.ts';
import { ROOT_DIRECTORY } from '../world/world.ts';

const TYPE = 'kubernetes.io~local-volume';
const STAGED = `${ROOT_DIRECTORY}/plugins/kubernetes.io/local-volume/mounts/`;

/** Mounts of the node's disks: one global mount on the node, and bind mounts in pods. */
export class DiskFacts {
  readonly #sources = new Map<string, string>();
  /** Time until which any disk mount hangs; -1 if no mount ever hung. */
  hangsUntilMs = -1;

  /** Reports whether the disk has its global mount on the node. */
  isStaged(disk: string): boolean {
    return this.#sources.has(`${STAGED}${disk}`);
  }

  /** The disks with a global mount on the node. */
  get staged(): readonly string[] {
    return [...this.#sources.keys()].flatMap((target) =>
      target.startsWith(STAGED) ? [target.slice(STAGED.length)] : [],
    );
  }

  /** Reports whether the disk is mounted in the pod. */
  isInPod(uid: string, disk: string): boolean {
    return this.#sources.has(inPod(uid, disk));
  }

  /** Returns the mount points of the disk in pods. */
  inPods(disk: string): readonly string[] {
    return [...this.#sources.keys()].filter((target) => target.endsWith(`/volumes/${TYPE}/${disk}`));
  }

  /** Updates the facts about disks. Must be called before the invariants judge the observation. */
  observe(observation: Observation): void {
    if (observation.kind === 'action' && observation.action.do === 'diskFault') {
      const { fault, forMs } = observation.action;
      if (fault === 'hang') this.hangsUntilMs = Math.max(this.hangsUntilMs, observation.atMs + forMs);
    }
    if (observation.kind !== 'mount') return;
    const { target, source } = observation;
    if (source === undefined) this.#sources.delete(target);
    else this.#sources.set(target, source);
  }
}

function inPod(uid: string, disk: string): string {
  return `${ROOT_DIRECTORY}/pods/${uid}/volumes/${TYPE}/${disk}`;
}

/** Returns the disk that has this global mount point on the node, or `undefined` for any other path. */
export function stagedDisk(target: string): string | undefined {
  return target.startsWith(STAGED) ? target.slice(STAGED.length) : undefined;
}

/** Returns the pod and the disk that have this mount point, or `undefined` for any other path. */
export function diskInPod(target: string): { readonly uid: string; readonly disk: string } | undefined {
  const [, uid, , type, disk] = target.slice(`${ROOT_DIRECTORY}/`.length).split('/');
  return type === TYPE && uid !== undefined && disk !== undefined ? { uid, disk } : undefined;
}
