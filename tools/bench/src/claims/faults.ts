import type { BenchNode } from '../bench-node.ts';
import type { ClusterPods } from '../cluster/cluster-pods.ts';
import { isHealthy } from '../kubelet.ts';
import type { BothKubelets, SideBySide, TurnPlan } from '../side-by-side.ts';
import { sleep, until, within } from '../waiting.ts';
import { claimingPod } from './claimed-volumes.ts';
import { type ClaimsPlan, type ClaimsScene, withClaims } from './claims-scene.ts';
import { FAULT_CASES, type FaultCase } from './fault-cases.ts';
import type { FaultOutcome, FaultsTurn } from './fault-figures.ts';
import { leftIn } from './left.ts';
import type { ClaimsBenchOptions } from './options.ts';

/** Number of pods with claims in each case. */
const CLAIMS = 5;
/** Interval in ms at which the other pods are created. */
const EVERY_MS = 100;
/** Share of the other pods that is created before the fault. */
const BEFORE_FAULT = 1 / 3;
/** Time limit in ms for the pods of a case to start or to recover, and to be gone. */
const LIMIT_MS = 120_000;
/** Time limit in ms for the mounts to be as before when all pods of a case are gone. */
const CLEAN_UP_MS = 30_000;
const LOOK_MS = 100;
const CSI_PATH = /\/kubernetes\.io[~/]csi\//;

interface FaultScene extends ClaimsScene {
  /** Number of other pods in each case. */
  readonly others: number;
  /** Returns the mounts and directories that pods need now. */
  readonly left: () => Promise<readonly string[]>;
}

/**
 * Measures all cases with both kubelets. Each kubelet has its own node during the whole round, and each case is measured
 * with this kubelet and then with the Go kubelet, so that both meet about the same load of the machine.
 */
export async function takeFaults(
  both: BothKubelets,
  options: ClaimsBenchOptions,
  say: (text: string) => void,
  signal: AbortSignal,
): Promise<SideBySide<FaultsTurn>> {
  const [ours, go]: [FaultsTurn[], FaultsTurn[]] = [[], []];
  for (let round = 0; round < options.rounds; round++) {
    const planOf = (plan: TurnPlan): ClaimsPlan => ({ ...plan, options, say });
    const take = (goScene: FaultScene | undefined): Promise<void> =>
      withFaultScene(
        planOf(both.ours(round)),
        async (scene) => {
          const turns = await takeTurns(goScene === undefined ? [scene] : [scene, goScene], options.only, signal);
          ours.push(turns[0] ?? []);
          if (turns[1] !== undefined) go.push(turns[1]);
        },
        signal,
      );
    await (both.go === undefined ? take(undefined) : withFaultScene(planOf(both.go(round)), take, signal));
  }
  return { ours, go };
}

function withFaultScene<T>(plan: ClaimsPlan, work: (scene: FaultScene) => Promise<T>, signal: AbortSignal): Promise<T> {
  const { directory, options } = plan;
  const withClaimed = (claims: ClaimsScene): Promise<T> => {
    const { rootDirectory } = claims.node.kubelet;
    return work({ ...claims, others: options.faults, left: () => leftIn(directory, rootDirectory) });
  };
  return withClaims(plan, CLAIMS, withClaimed, signal);
}

/** Measures each case in each scene. @returns the outcomes of each scene */
async function takeTurns(
  scenes: readonly FaultScene[],
  only: RegExp,
  signal: AbortSignal,
): Promise<readonly FaultsTurn[]> {
  const turns = scenes.map((scene) => ({ scene, outcomes: [] as FaultOutcome[] }));
  for (const [index, faultCase] of FAULT_CASES.entries()) {
    if (!only.test(faultCase.name)) continue;
    for (const { scene, outcomes } of turns) {
      const outcome = await measureCase(faultCase, `${scene.node.nodeName}-f${index}`, scene, signal);
      scene.tell(`${faultCase.name}: recovery after ${Math.round(outcome.recoveryMs)} ms`);
      outcomes.push(outcome);
    }
  }
  return turns.map(({ outcomes }) => outcomes);
}

/** Measures one case, and removes its pods. @param prefix start of the names of the pods */
async function measureCase(
  faultCase: FaultCase,
  prefix: string,
  scene: FaultScene,
  signal: AbortSignal,
): Promise<FaultOutcome> {
  const { node, driver, names: claims } = scene;
  const { pods, kubelet } = node;
  const { name, during, rpc } = faultCase;
  const claiming = claims.map((_, index) => `${prefix}-claim-${index}`);
  const others = Array.from({ length: scene.others }, (_, index) => `${prefix}-other-${index}`);
  const before = await scene.left();
  const createClaiming = (): Promise<unknown> =>
    Promise.all(claiming.map((pod, index) => pods.create(pod, claimingPod(claims[index] ?? ''))));
  if (during === 'deletion') {
    await createClaiming();
    await reached(`${prefix}: pods with claims are Ready`, Promise.all(claiming.map((pod) => pods.ready(pod))));
  }
  if (rpc !== undefined) {
    await driver.control({ faults: [{ rpc, at: 'middle', hang: true, times: claims.length }] });
  }
  const beginMs = performance.now();
  const recovering = within(
    LIMIT_MS,
    during === 'start' ? allReady(claiming, pods) : allUnmounted(claiming, scene, before, signal),
  );
  await (during === 'start' ? createClaiming() : deleteAll(claiming, pods));
  if (rpc !== undefined) {
    const isInProgress = async (): Promise<boolean> => (await driver.hitsLeft()) === 0;
    await until(`${claims.length} calls of ${rpc} are in progress`, isInProgress, signal, { timeoutMs: LIMIT_MS });
  }
  const starting = startOthers(others, pods, signal);
  const faultMs = rpc === undefined ? beginMs : await faultAmong(starting, faultCase, scene, signal);
  const [recoveredMs, othersMs] = await Promise.all([recovering, starting]);
  const restarts = others.reduce((sum, other) => sum + pods.restarts(other), 0);
  await deleteAll(during === 'start' ? [...others, ...claiming] : others, pods);
  const left = await leftover([...others, ...claiming], scene, before, signal);
  // Throws if the kubelet has exited.
  await kubelet.usage();
  return { name, othersMs, restarts, recoveryMs: (recoveredMs ?? Number.POSITIVE_INFINITY) - faultMs, left };
}

/**
 * Lets the fault happen while other pods start, and ends it: restarts the killed programs at once and lets the driver's
 * calls continue. Without a kill, the driver hangs until all other pods are Ready.
 * @returns the time in ms of the kill, or of the end of the hang
 */
async function faultAmong(
  starting: Promise<readonly number[]>,
  { kills }: FaultCase,
  { node: { kubelet }, driver, others, tell }: FaultScene,
  signal: AbortSignal,
): Promise<number> {
  if (kills.length === 0) await starting;
  else await sleep(others * BEFORE_FAULT * EVERY_MS, signal);
  const faultMs = performance.now();
  const programs = {
    driver: { kill: () => driver.kill('SIGKILL'), start: () => driver.start() },
    kubelet: { kill: () => kubelet.stop('SIGKILL'), start: () => kubelet.start() },
  };
  await Promise.all(kills.map((name) => programs[name].kill()));
  await Promise.all(kills.map((name) => programs[name].start()));
  await driver.control({});
  await supervise(kubelet, tell, signal);
  return faultMs;
}

/** Waits until the kubelet is healthy, and starts a kubelet that exited again, as a supervisor does. */
async function supervise(kubelet: BenchNode['kubelet'], tell: ClaimsScene['tell'], signal: AbortSignal): Promise<void> {
  const isUp = async (): Promise<boolean> => {
    if (!kubelet.runs) {
      tell(`the kubelet exited, starting it again\n${await kubelet.logTail()}`);
      await kubelet.start();
    }
    return isHealthy(kubelet.healthzPort);
  };
  await until('the kubelet is healthy', isUp, signal, { everyMs: LOOK_MS, timeoutMs: LIMIT_MS });
}

/** Creates pods at intervals. @returns the time in ms of each from its creation until it was Ready, or infinity */
function startOthers(names: readonly string[], pods: ClusterPods, signal: AbortSignal): Promise<readonly number[]> {
  return Promise.all(
    names.map(async (name, index) => {
      await sleep(index * EVERY_MS, signal);
      const createdMs = await pods.create(name);
      return ((await within(LIMIT_MS, pods.ready(name))) ?? Number.POSITIVE_INFINITY) - createdMs;
    }),
  );
}

/** Resolves with the time in ms at which all pods were Ready. */
async function allReady(names: readonly string[], pods: ClusterPods): Promise<number> {
  return Math.max(...(await Promise.all(names.map((name) => pods.ready(name)))));
}

/** Resolves with the time in ms at which all pods were gone and their CSI volumes were unmounted. */
async function allUnmounted(
  names: readonly string[],
  { left, node: { pods } }: FaultScene,
  before: readonly string[],
  signal: AbortSignal,
): Promise<number> {
  const goneMs = Math.max(...(await Promise.all(names.map((name) => pods.gone(name)))));
  let looks = 0;
  const areUnmounted = async (): Promise<boolean> => {
    looks++;
    return (await left()).every((path) => !CSI_PATH.test(path) || before.includes(path));
  };
  await until('CSI volumes are unmounted', areUnmounted, signal, { everyMs: LOOK_MS, timeoutMs: LIMIT_MS });
  return looks === 1 ? goneMs : performance.now();
}

async function deleteAll(names: readonly string[], pods: ClusterPods): Promise<void> {
  await Promise.all(names.map((name) => pods.delete(name)));
}

/** Waits until pods are gone and their mounts with them. @returns the number of mounts and directories that stay */
async function leftover(
  names: readonly string[],
  { left, tell, node: { pods } }: FaultScene,
  before: readonly string[],
  signal: AbortSignal,
): Promise<number> {
  const gone = await within(LIMIT_MS, Promise.all(names.map((name) => pods.gone(name))));
  if (gone === undefined) tell('some pods are not gone');
  let more: readonly string[] = [];
  const isAsBefore = async (): Promise<boolean> => {
    const now = await left();
    more = now.filter((path) => !before.includes(path));
    return more.length === 0;
  };
  await until('mounts are as before', isAsBefore, signal, { everyMs: LOOK_MS, timeoutMs: CLEAN_UP_MS }).catch(() => {
    signal.throwIfAborted();
    tell(`left: ${more.join(' ')}`);
  });
  return more.length;
}

/** Waits for a promise. @throws Error after {@link LIMIT_MS} */
async function reached(what: string, coming: Promise<unknown>): Promise<void> {
  const late = await within(
    LIMIT_MS,
    coming.then(() => true),
  );
  if (late === undefined) throw new Error(`timed out after ${LIMIT_MS / 1_000} s waiting until ${what}`);
}
