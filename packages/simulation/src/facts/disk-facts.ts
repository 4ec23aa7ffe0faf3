import type { Observation } from '../observation.ts';
import { ROOT_DIRECTORY } from '../world/world.ts';

const TYPE = 'kubernetes.io~local-volume';
const STAGED = `${ROOT_DIRECTORY}/plugins/kubernetes.io/local-volume/mounts/`;

/** Where the disks of the node are mounted: once for it, and from there in pods. */
export class DiskFacts {
  readonly #sources = new Map<string, string>();
  /** Until when some mount hangs; -1 where none ever did. */
  hangsUntilMs = -1;

  /** Whether a disk is mounted for the node. */
  isStaged(disk: string): boolean {
    return this.#sources.has(`${STAGED}${disk}`);
  }

  /** The disks that are mounted for the node. */
  get staged(): readonly string[] {
    return [...this.#sources.keys()].flatMap((target) =>
      target.startsWith(STAGED) ? [target.slice(STAGED.length)] : [],
    );
  }

  /** Whether a pod has a disk mounted. */
  isInPod(uid: string, disk: string): boolean {
    return this.#sources.has(inPod(uid, disk));
  }

  /** The mounts in pods that are of a disk. */
  inPods(disk: string): readonly string[] {
    return [...this.#sources.keys()].filter((target) => target.endsWith(`/volumes/${TYPE}/${disk}`));
  }

  /** What was mounted before the last change. */
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

/** The disk that is mounted for the node at this path; `undefined` for any other path. */
export function stagedDisk(target: string): string | undefined {
  return target.startsWith(STAGED) ? target.slice(STAGED.length) : undefined;
}

/** The pod and the disk that are mounted at this path; `undefined` for any other path. */
export function diskInPod(target: string): { readonly uid: string; readonly disk: string } | undefined {
  const [, uid, , type, disk] = target.slice(`${ROOT_DIRECTORY}/`.length).split('/');
  return type === TYPE && uid !== undefined && disk !== undefined ? { uid, disk } : undefined;
}
