import { diskInPod, stagedDisk } from '../facts/disk-facts.ts';
import type { Facts } from '../facts/facts.ts';
import { devicePath } from '../scenario/manifest.ts';
import { type Invariant, invariant, type Judgement, judged } from './invariant.ts';
import { startsPromptly } from './node.ts';

/** N5: a disk is mounted once for the node, whoever mounted it, and for as long as a pod has it; a pod has it until its containers have ended. */
export const disksInOrder: Invariant = invariant('N5', ['mount', 'containerStarted'], () => {
  const mounted = new Set<string>();
  return (observation, facts): Judgement => {
    if (observation.kind === 'containerStarted') return startsWithDisks(observation.life, facts);
    const { target, source } = observation;
    const disk = stagedDisk(target);
    const ofPod = diskInPod(target);
    if (disk !== undefined && source !== undefined) {
      if (source !== devicePath(disk)) return { wrong: `${source} is mounted for disk ${disk}` };
      const isTwice = mounted.has(disk);
      mounted.add(disk);
      // A mount of a kubelet that was killed, and that hung, can go through after the next one's.
      const mayBeLate = facts.kubelet > 1 && facts.disks.hangsUntilMs >= facts.kubeletStartedAtMs;
      return judged(isTwice && !mayBeLate && `disk ${disk} is mounted once more`);
    }
    if (disk !== undefined) {
      mounted.delete(disk);
      // Where the machine was off all of them go, in any order.
      const [left] = facts.kubeletUp ? facts.disks.inPods(disk) : [];
      return judged(left && `disk ${disk} is unmounted, and is mounted at ${left}`);
    }
    if (ofPod === undefined || !facts.kubeletUp) return undefined;
    if (source !== undefined)
      return judged(!facts.disks.isStaged(ofPod.disk) && `${target} is bound, and its disk is not mounted`);
    const [life] = facts.lives.runningOf(ofPod.uid);
    return judged(life && `disk ${ofPod.disk} is taken from pod ${ofPod.uid} while its container ${life.name} runs`);
  };
});

function startsWithDisks(
  { podUid, name }: { readonly podUid: string; readonly name: string },
  facts: Facts,
): Judgement {
  const { disks } = facts.pods.planOf(podUid) ?? {};
  if (disks === undefined || facts.wasOrphaned(podUid)) return undefined;
  const missing = disks.find((disk) => !facts.disks.isInPod(podUid, disk));
  return judged(missing && `container ${name} of pod ${podUid} starts without disk ${missing}`);
}

/** What of the disks should be unmounted and is not. */
export function diskFault({ disks, pods }: Facts): string | undefined {
  const wanted = new Set([...pods.wanted.values()].flatMap((pod) => pod.disks ?? []));
  const left = disks.staged.find((disk) => !wanted.has(disk));
  return left && `disk ${left} is mounted, and no pod has it`;
}

/** W6: a mount of a disk that hangs delays the pods alone that have it. */
export const disksHangAlone: Invariant = invariant('W6', ['health'], () =>
  startsPromptly(
    (facts) => facts.disks.hangsUntilMs > facts.nowMs,
    ({ disks, foreign, containers }) =>
      disks !== undefined || foreign === true || containers.some(({ slowImage }) => slowImage === true),
  ),
);
