import { seededRandom } from '@node-agent/async';
import { type Action, durationMs, type NodePlan, type Scenario } from './actions.ts';
import { ApiUser } from './api-user.ts';
import { withBrokenObjects } from './broken-plans.ts';
import { withClaims } from './claim-plans.ts';
import { withDeadlines } from './deadline-plans.ts';
import { withDeletions } from './deletion-plans.ts';
import { withDevices } from './device-plans.ts';
import { Dice } from './dice.ts';
import { withDisks } from './disk-plans.ts';
import { Draft } from './draft.ts';
import { withEndings } from './ending-plans.ts';
import { FAULTS, RESTARTS } from './faults.ts';
import { withHooks } from './hook-plans.ts';
import { withHostility } from './hostile-plans.ts';
import { withIllness } from './illness-plans.ts';
import { ManifestUser } from './manifest-user.ts';
import { withNuma } from './numa-plans.ts';
import { withProbes } from './probe-plans.ts';
import { withRemovals } from './removal-plans.ts';
import { withResources } from './resource-plans.ts';
import { withRestartRules } from './restart-plans.ts';
import { withShutdowns } from './shutdown-plans.ts';
import { withSoftThresholds } from './soft-plans.ts';
import { withVolumes } from './volume-plans.ts';

/** Size and kind of a scenario. */
export interface ScenarioSize {
  /** Number of random actions. Default: 12. */
  readonly events?: number;
  /** Whether the node is part of a cluster. Default: false. */
  readonly cluster?: boolean;
  /**
   * Whether every node has scarce resources, so that pods are resized, evicted and preempted. Default: three of ten
   * nodes.
   */
  readonly scarce?: boolean;
  /** Whether every node without scarce resources has device plugins. Default: one of ten nodes. */
  readonly devices?: boolean;
  /**
   * Whether every node is part of a cluster, and its containers get CPUs, memory and claimed devices for themselves.
   * Default: false.
   */
  readonly resources?: boolean;
  /** Whether every node is part of a cluster and has CSI drivers and volumes. Default: false. */
  readonly volumes?: boolean;
  /** Whether the machine of every node shuts down or loses its power. Default: one of eight. */
  readonly shutdown?: boolean;
}

const LAST_ACTION_MS = 60_000;
const QUIET_MS = 400_000;

/** Returns the scenario of a seed. The result is always the same for a seed. */
export function generateScenario(seed: number, size: ScenarioSize = {}): Scenario {
  const dice = new Dice(seededRandom(seed));
  const alone = generateNode(dice);
  const plain = size.cluster || size.volumes || size.resources ? { ...alone, cluster: true } : alone;
  const asked = withDeletions(seed, generateActions(new Draft(dice, plain), size.events ?? 12));
  const drawn = withHostility(seed, withIllness(seed, withProbes(seed, withDeadlines(seed, asked))));
  // A machine with NUMA nodes gets no scarce resources, because another invariant counts its CPUs.
  const counted = size.resources
    ? { node: plain, actions: drawn }
    : withResources(seed, plain, drawn, size.scarce ?? false);
  const softened = withSoftThresholds(seed, counted.node, counted.actions);
  const offered = withDevices(seed, softened.node, softened.actions, size.devices ?? false);
  const ended = withShutdowns(seed, offered.node, offered.actions, size.shutdown ?? false);
  const claimed = withVolumes(seed, ended.node, ended.actions, size.volumes ?? false);
  const placed = withNuma(seed, claimed.node, claimed.actions, size.resources ?? false);
  const reserved = withClaims(seed, placed.node, placed.actions, size.resources ?? false);
  const { node } = reserved;
  const hooked = withHooks(seed, withRestartRules(seed, reserved.actions));
  const dressed = withDisks(seed, node, withEndings(seed, hooked));
  const actions = withBrokenObjects(seed, node, withRemovals(seed, dressed, LAST_ACTION_MS));
  const faultsEndMs = Math.max(LAST_ACTION_MS, ...actions.map(endOf)) + 1000;
  return { seed, node, actions, faultsEndMs, quietMs: QUIET_MS };
}

/** Returns the time at which an action's fault ends. */
function endOf(action: Action): number {
  return action.atMs + durationMs(action);
}

function generateNode(dice: Dice): NodePlan {
  const http = dice.chance(0.25);
  return {
    backOff: dice.weighted([
      [3, { initialMs: 1000, maxMs: 10_000 }],
      [2, { initialMs: 10_000, maxMs: 40_000 }],
      [1, { initialMs: 10_000, maxMs: 300_000 }],
    ]),
    events: dice.chance(0.75),
    latencies: dice.chance(0.7),
    http,
    httpDelayMs: http ? dice.between(0, 12_000) : 0,
  };
}

/** Draws some pods first, then the given number of events. */
function generateActions(draft: Draft, events: number): readonly Action[] {
  const { dice, node } = draft;
  const manifests = new ManifestUser(draft);
  const api = new ApiUser(draft);
  for (let n = dice.between(1, 3); n > 0; n--) manifests.addPod(dice.between(0, 500));
  if (node.http) manifests.serve(0);
  if (node.cluster) api.create(dice.between(0, 500));
  let atMs = 0;
  const calm = dice.chance(0.3);
  const times = Array.from({ length: events }, () => dice.between(calm ? 20_000 : 0, LAST_ACTION_MS)).sort(
    (a, b) => a - b,
  );
  for (const time of times) {
    // Some events happen at the same time.
    atMs = dice.chance(0.15) ? atMs : time;
    oneEvent(draft, manifests, api)(atMs);
  }
  if (dice.chance(0.3)) {
    manifests.removeAll(LAST_ACTION_MS);
    api.deleteAll(LAST_ACTION_MS);
  }
  return draft.actions;
}

function oneEvent(draft: Draft, manifests: ManifestUser, api: ApiUser): (atMs: number) => void {
  const { dice, node } = draft;
  const byChance = ([weight, make]: (typeof FAULTS)[number]): readonly [number, (atMs: number) => void] => [
    weight,
    (atMs) => draft.do(make(dice, atMs)),
  ];
  return dice.weighted<(atMs: number) => void>([
    [3, (atMs) => manifests.addPod(atMs)],
    [3, (atMs) => manifests.changePod(atMs)],
    [3, (atMs) => manifests.removePod(atMs)],
    [1.5, (atMs) => manifests.breakManifest(atMs)],
    [1.5, (atMs) => manifests.replacePod(atMs)],
    [node.cluster ? 0.4 : 0, (atMs) => manifests.changeUidUnseen(atMs)],
    [node.http ? 3 : 0, (atMs) => manifests.serve(atMs)],
    [node.http ? 1 : 0, (atMs) => manifests.serveError(atMs)],
    ...FAULTS.map(byChance),
    [node.cluster ? 14 : 0, (atMs) => api.one(atMs, () => manifests.anyFile()?.[1])],
    ...RESTARTS.map(byChance),
  ]);
}
