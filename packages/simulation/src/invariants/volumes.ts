import type { Facts } from '../facts/facts.ts';
import { podOfPath, unreported, volumeCount } from '../facts/volume-facts.ts';
import type { LastLook } from '../observation.ts';
import type { PodPlan } from '../scenario/plans.ts';
import type { CsiCall } from '../world/csi-driver.ts';
import { ROOT_DIRECTORY } from '../world/world.ts';
import { type Invariant, invariant, judged } from './invariant.ts';
import { startsPromptly } from './node.ts';

/**
 * V1: a volume is not unpublished while a container of its pod runs, and not unstaged while it is published to a pod.
 */
export const takenLast: Invariant = invariant('V1', ['csiCall'], () => ({ call, phase, code }, facts) => {
  if (phase === 'refused' && call.call === 'unstage') return { wrong: `${of(call)} broke a rule: ${code}` };
  if (phase !== 'began') return undefined;
  if (call.call === 'unpublish') {
    const [life] = facts.lives
      .runningOf(podOfPath(call.path) ?? '')
      .filter(({ startedAtMs }) => startedAtMs >= facts.kubeletStartedAtMs);
    return judged(life && `${of(call)} began while container ${life.name} of pod ${life.podUid} is running`);
  }
  if (call.call !== 'unstage') return undefined;
  const [path] = facts.volumes.publishedAt(call.volume);
  return judged(path && `${of(call)} began while the volume is published at ${path}`);
});

/**
 * V2: a kubelet never has two conflicting calls for one volume in progress. A kubelet does not repeat a call that has
 * succeeded, unless the driver asks for republishing.
 */
export const oneCallAtATime: Invariant = invariant('V2', ['csiCall'], () => (observation, facts) => {
  const { call, phase, code, kubelet } = observation;
  if (phase === 'refused' && call.call !== 'unstage') return { wrong: `${of(call)} broke a rule: ${code}` };
  if (phase !== 'began') return undefined;
  const ours = facts.volumes.running.filter((one) => one.call !== call && one.kubelet === kubelet);
  const other = conflicting(
    call,
    ours.map((one) => one.call),
  );
  if (other !== undefined) return { wrong: `${of(call)} began while ${of(other)} is in progress` };
  if (!facts.volumes.isKnown(call)) return 'ok';
  if (call.call === 'stage') return { wrong: `${of(call)} was called again after it had succeeded` };
  // A volume whose publishing has succeeded is published again if a later step fails, for example the expansion,
  // because the pod cannot start without that step.
  const republishes = facts.node.csi?.drivers.some(({ name, republish }) => name === call.driver && republish);
  const [user] = facts.lives
    .runningOf(podOfPath(call.path) ?? '')
    .filter(({ startedAtMs }) => startedAtMs >= facts.kubeletStartedAtMs);
  const isRepeated = call.call === 'publish' && user !== undefined && !republishes;
  return judged(
    isRepeated && `${of(call)} was called again although container ${user?.name} is running with the volume`,
  );
});

/**
 * Returns a call in progress that must end before `call` begins. On the node, only one call at a time stages or
 * unstages a volume. At each path, only one call at a time publishes, unpublishes or expands the volume, and the volume
 * is not unstaged during such a call.
 */
export function conflicting(call: CsiCall, running: readonly CsiCall[]): CsiCall | undefined {
  const isOfNode = ({ call: what }: CsiCall): boolean => what === 'stage' || what === 'unstage';
  return running.find((one) => {
    if (one.driver !== call.driver || one.volume !== call.volume) return false;
    if (isOfNode(one) && isOfNode(call)) return true;
    return one.path === call.path || one.call === 'unstage' || call.call === 'unstage';
  });
}

/** V3: after a call whose effect is unknown, a container starts only when the call has been repeated with success. */
export const successIsSeen: Invariant = invariant('V3', ['containerStarted'], () => ({ life }, facts) => {
  const { podUid, name } = life;
  const plan = facts.pods.planOf(podUid);
  if (plan === undefined || volumeCount(plan) === 0 || facts.wasOrphaned(podUid)) return undefined;
  const unsure = facts.volumes.inPod(podUid).find(({ path }) => !facts.volumes.isConfirmed(path));
  return judged(
    unsure && `container ${name} of pod ${podUid} started although publishing ${unsure.volume} has not succeeded`,
  );
});

/** V4: while a volume is staged, the node reports it in use, whichever kubelet staged the volume. */
export const keptInUse: Invariant = invariant('V4', ['volumesInUse'], () => ({ names }, { volumes, node }) => {
  // After a loss of the API server's store, the new Node object lists no volumes in use. A restarted kubelet may
  // register the node before it has found the volumes that the previous kubelet staged.
  if (names === undefined || volumes.wipedAtMs >= 0) return undefined;
  const [lost] = unreported(volumes.attachableStaged, names, node.csi);
  return judged(lost && `volume ${lost} is staged, but the node does not report it in use any more`);
});

/** V5: a container starts when all volumes of its pod are published. */
export const startsWithVolumes: Invariant = invariant('V5', ['containerStarted'], () => ({ life }, facts) => {
  const { podUid, name } = life;
  const plan = facts.pods.planOf(podUid);
  if (plan === undefined || volumeCount(plan) === 0 || facts.wasOrphaned(podUid)) return undefined;
  const missing = missingVolume(plan, facts);
  return judged(missing && `container ${name} of pod ${podUid} started without volume ${missing}`);
});

function missingVolume(plan: PodPlan, { volumes }: Facts): string | undefined {
  const published = volumes.inPod(plan.uid);
  const missing = plan.csi?.find(({ name }) => !published.some(({ volume }) => volume === name));
  if (missing !== undefined) return missing.name;
  return published.length < volumeCount(plan) ? 'of an inline driver' : undefined;
}

/** V5: a volume that a controller attaches is staged and published only while it is attached and reported in use. */
export const onlyWhileAttached: Invariant = invariant('V5', ['csiCall', 'attachment'], () => (observation, facts) => {
  const { volumes } = facts;
  if (observation.kind === 'attachment') {
    if (observation.attached || volumes.wipedAtMs >= 0) return undefined;
    const staged = volumes.stagedAt(observation.volume);
    return judged(staged && `volume ${observation.volume} was detached while it is staged at ${staged}`);
  }
  const { call, phase, reported } = observation;
  if (phase !== 'began' || call.call !== 'stage' || !volumes.isAttachable(call.volume)) return undefined;
  if (!volumes.isAttached(call.volume)) return { wrong: `${of(call)} began although the volume is not attached` };
  // A kubelet may not know yet that the API server has lost its store.
  return judged(!reported && volumes.wipedAtMs < 0 && `${of(call)} began although the volume is not reported in use`);
});

/** S5: a pod object is deleted only after the pod's volumes are unpublished. */
export const volumesGoBeforeObjects: Invariant = invariant('S5', ['apiRequest'], () => ({ request }, facts) => {
  const { verb, resource, status, uid } = request;
  if (verb !== 'delete' || resource !== 'pods' || status !== 200 || uid === undefined) return undefined;
  if (!facts.pods.isApiPod(uid) || facts.node.csi === undefined) return undefined;
  const [left] = facts.volumes.inPod(uid);
  return judged(left && `the object of pod ${uid} was deleted although ${left.volume} is published at ${left.path}`);
});

/** V6: when no pod uses a volume any more, nothing of the volume is left on the node. */
export const nothingIsLeft: Invariant = invariant('V6', ['end'], () => ({ look }, facts) => {
  if (facts.node.csi === undefined) return undefined;
  return judged(leftOverVolume(facts, look));
});

/**
 * Returns what is left of a volume that no pod wants, or a volume in use whose capacity differs from the capacity of
 * its claim.
 */
export function leftOverVolume({ pods, lives }: Facts, { volumes, paths }: LastLook): string | undefined {
  if (volumes === undefined) return undefined;
  const used = new Set([...pods.wanted.values()].flatMap(({ csi = [] }) => csi.map(({ name }) => name)));
  const published = volumes.published.find(({ path }) => !pods.wanted.has(podOfPath(path) ?? ''));
  if (published !== undefined) return `${published.volume} is published at ${published.path} without a pod`;
  const staged = volumes.staged.find(({ volume }) => !used.has(volume));
  if (staged !== undefined) return `${staged.volume} is staged at ${staged.path} although no pod uses it`;
  const attached = volumes.attached.find((volume) => !used.has(volume));
  if (attached !== undefined) return `${attached} is attached although no pod uses it`;
  const inUse = volumes.inUse.find((name) => !used.has(name.slice(name.indexOf('^') + 1)));
  if (inUse !== undefined) return `the node reports ${inUse} in use although no pod uses it`;
  const running = new Set(
    lives.running.flatMap(({ podUid }) => pods.planOf(podUid)?.csi ?? []).map(({ name }) => name),
  );
  for (const [name, { volume, claim }] of volumes.sizes) {
    if (running.has(name) && volume !== claim) {
      return `claim ${name} has the capacity ${claim}, but its volume has ${volume}`;
    }
  }
  if (used.size > 0) return undefined;
  if (volumes.loops.length > 0) return `a loop device holds ${volumes.loops[0]}`;
  const left = paths.find((path) => VOLUME_PATH.test(path));
  return left && `${left} is left on disk`;
}

/** Matches the paths of single volumes below the plugin's directory. */
const VOLUME_PATH = new RegExp(
  `^${ROOT_DIRECTORY}/plugins/kubernetes\\.io/csi/(volumeDevices/((staging|publish)/[^/]+|(?!staging$|publish$)[^/]+)$|(?!volumeDevices/)[^/]+/[^/]+$)`,
);

/** V7: a volume with access mode ReadWriteOncePod is published to one pod at a time. */
export const oneOfAPod: Invariant = invariant('V7', ['csiCall'], () => ({ call, phase }, facts) => {
  if (phase !== 'acted' || call.call !== 'publish') return undefined;
  const plan = facts.node.csi?.volumes.find(({ name }) => name === call.volume);
  if (plan?.accessMode !== 'ReadWriteOncePod') return undefined;
  const other = facts.volumes.publishedAt(call.volume).find((path) => path !== call.path);
  return judged(other && `${of(call)} took effect while the volume is published at ${other}`);
});

/**
 * Reports whether the pod may wait until another pod is gone, because a volume with access mode ReadWriteOncePod is in
 * one pod at a time.
 */
export function mayWaitForVolume({ uid, csi = [] }: PodPlan, { wanted }: Pick<Facts['pods'], 'wanted'>): boolean {
  const exclusive = csi.filter(({ accessMode }) => accessMode === 'ReadWriteOncePod').map(({ name }) => name);
  const others = [...wanted.values()].filter((other) => other.uid !== uid);
  return others.some((other) => other.csi?.some(({ name }) => exclusive.includes(name)));
}

/** W6: a driver that hangs delays only pods that use CSI volumes. */
export const driversHangAlone: Invariant = invariant('W6', ['health'], () =>
  startsPromptly(
    (facts) => facts.volumes.troubledUntilMs > facts.nowMs,
    (pod) => volumeCount(pod) > 0 || pod.foreign === true || pod.containers.some(({ slowImage }) => slowImage === true),
  ),
);

function of({ driver, call, volume, path }: CsiCall): string {
  return `${call} ${volume} at ${path} by ${driver}`;
}
