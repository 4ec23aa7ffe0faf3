import { diskInPod, stagedDisk } from '../facts/disk-facts.ts';
import type { Facts } from '../facts/facts.ts';
import { devicePath } from '../scenario/manifest.ts';
import { type Invariant, invariant, type Judgement, judged } from './invariant.ts';
import { startsPromptly } from './node.ts';

/**
 * N5: a disk has one global mount on the node for as long as a pod uses the disk, regardless of which kubelet mounted
 * it. A pod uses the disk until its containers have exited.
 */
export const disksInOrder: Invariant = invariant('N5', ['mount', 'containerStarted'], () => {
  const mounted = new Set<string>();
  return (observation, facts): Judgement => {
    if (observation.kind === 'containerStarted') return startsWithDisks(observation.life, facts);
    const { target, source } = observation;
    const disk = stagedDisk(target);
    const ofPod = diskInPod(target);
    if (disk !== undefined && source !== undefined) {
      if (source !== devicePath(disk)) return { wrong: `${source} was mounted for disk ${disk}` };
      const isTwice = mounted.has(disk);
      mounted.add(disk);
      // A hanging mount of a killed kubelet can complete after the next kubelet's mount.
      const mayBeLate = facts.kubelet > 1 && facts.disks.hangsUntilMs >= facts.kubeletStartedAtMs;
      return judged(isTwice && !mayBeLate && `disk ${disk} was mounted a second time`);
    }
    if (disk !== undefined) {
      mounted.delete(disk);
      // A machine that is powered off loses all mounts at once, so their order is judged only while a kubelet runs.
      const [left] = facts.kubeletUp ? facts.disks.inPods(disk) : [];
      return judged(left && `disk ${disk} was unmounted although it is mounted at ${left}`);
    }
    if (ofPod === undefined || !facts.kubeletUp) return undefined;
    if (source !== undefined)
      return judged(!facts.disks.isStaged(ofPod.disk) && `${target} was bind-mounted although its disk is not mounted`);
    const [life] = facts.lives.runningOf(ofPod.uid);
    return judged(
      life && `disk ${ofPod.disk} was unmounted from pod ${ofPod.uid} while its container ${life.name} is running`,
    );
  };
});

function startsWithDisks(
  { podUid, name }: { readonly podUid: string; readonly name: string },
  facts: Facts,
): Judgement {
  const { disks } = facts.pods.planOf(podUid) ?? {};
  if (disks === undefined || facts.wasOrphaned(podUid)) return undefined;
  const missing = disks.find((disk) => !facts.disks.isInPod(podUid, disk));
  return judged(missing && `container ${name} of pod ${podUid} started without disk ${missing}`);
}

/** Returns a disk that should be unmounted and is not. */
export function diskFault({ disks, pods }: Facts): string | undefined {
  const wanted = new Set([...pods.wanted.values()].flatMap((pod) => pod.disks ?? []));
  const left = disks.staged.find((disk) => !wanted.has(disk));
  return left && `disk ${left} is mounted although no pod uses it`;
}

/** W6: a hanging mount of a disk delays only pods that use the disk. */
export const disksHangAlone: Invariant = invariant('W6', ['health'], () =>
  startsPromptly(
    (facts) => facts.disks.hangsUntilMs > facts.nowMs,
    ({ disks, foreign, containers }) =>
      disks !== undefined || foreign === true || containers.some(({ slowImage }) => slowImage === true),
  ),
);
