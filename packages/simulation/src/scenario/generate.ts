import { seededRandom } from '@node-agent/async';
import type { EventFault, RpcFault, RpcName } from '@node-agent/fake-cri';
import { POD_LOGS_DIRECTORY, ROOT_DIRECTORY } from '../world/world.ts';
import type { Action, NodePlan, Scenario } from './actions.ts';
import { Dice } from './dice.ts';
import { changePod, generatePod } from './generate-pod.ts';
import { NODE_NAME } from './manifest.ts';
import type { PodPlan } from './plans.ts';

/** How large a scenario is. */
export interface ScenarioSize {
  /** How many things are done to the machine; 12 by default. */
  readonly events?: number;
  /** Whether the node is one of a cluster; no by default. */
  readonly cluster?: boolean;
}

const LAST_ACTION_MS = 60_000;
const QUIET_MS = 400_000;

const READS = [
  'listPodSandbox',
  'listContainers',
  'podSandboxStatus',
  'containerStatus',
  'status',
  'version',
  'imageStatus',
  'getContainerEvents',
] as const;
const WRITES = [
  'runPodSandbox',
  'stopPodSandbox',
  'removePodSandbox',
  'createContainer',
  'startContainer',
  'stopContainer',
  'removeContainer',
  'pullImage',
] as const;

const BROKEN = [
  '{"apiVersion": "v1", "kind": "Po',
  'apiVersion: v1\nkind: Pod\nmetadata: {}\n',
  '',
  '- 1\n- 2\n',
  '\t:',
] as const;

/** The scenario of a seed: the same one each time. */
export function generateScenario(seed: number, size: ScenarioSize = {}): Scenario {
  const dice = new Dice(seededRandom(seed));
  const alone = generateNode(dice);
  const node = size.cluster ? { ...alone, cluster: true } : alone;
  const events = size.events ?? 12;
  const actions = new Actions(dice, node).generate(events);
  const faultsEndMs = Math.max(LAST_ACTION_MS, ...actions.map(endOf)) + 1000;
  return { seed, node, actions, faultsEndMs, quietMs: QUIET_MS };
}

/** When an action's own fault is over. */
function endOf(action: Action): number {
  if ('forMs' in action) return action.atMs + action.forMs;
  return 'downMs' in action ? action.atMs + action.downMs : action.atMs;
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

/** Draws actions, keeping in mind what the files say so that what is drawn makes sense. */
class Actions {
  readonly #dice: Dice;
  readonly #node: NodePlan;
  readonly #files = new Map<string, PodPlan>();
  readonly #gone: PodPlan[] = [];
  readonly #actions: Action[] = [];
  #served: readonly PodPlan[] = [];
  readonly #inApi: PodPlan[] = [];
  #uids = 0;

  constructor(dice: Dice, node: NodePlan) {
    this.#dice = dice;
    this.#node = node;
  }

  generate(events: number): readonly Action[] {
    const dice = this.#dice;
    for (let n = dice.between(1, 3); n > 0; n--) this.#addPod(dice.between(0, 500));
    if (this.#node.http) this.#serve(0);
    if (this.#node.cluster) this.#createInApi(dice.between(0, 500));
    let atMs = 0;
    const calm = dice.chance(0.3);
    const times = Array.from({ length: events }, () => dice.between(calm ? 20_000 : 0, LAST_ACTION_MS)).sort(
      (a, b) => a - b,
    );
    for (const time of times) {
      // Some things fall together.
      atMs = dice.chance(0.15) ? atMs : time;
      this.#one(Math.max(atMs, 0));
    }
    if (dice.chance(0.3)) this.#removeAll(LAST_ACTION_MS);
    return this.#actions;
  }

  #one(atMs: number): void {
    const dice = this.#dice;
    const act = dice.weighted<(atMs: number) => void>([
      [3, (at) => this.#addPod(at)],
      [3, (at) => this.#changePod(at)],
      [3, (at) => this.#removePod(at)],
      [1.5, (at) => this.#breakManifest(at)],
      [1.5, (at) => this.#replacePod(at)],
      [this.#node.http ? 3 : 0, (at) => this.#serve(at)],
      [
        this.#node.http ? 1 : 0,
        (at) => this.#do({ atMs: at, do: 'serveError', status: dice.pick([500, 404]), forMs: dice.between(1, 20_000) }),
      ],
      [8, (at) => this.#rpcFault(at)],
      [1.5, (at) => this.#eventFault(at)],
      [1, (at) => this.#fileFault(at)],
      [2, (at) => this.#killContainer(at)],
      [1, (at) => this.#do({ atMs: at, do: 'killSandbox', nth: dice.between(0, 9) })],
      [
        1.5,
        (at) =>
          this.#do({
            atMs: at,
            do: 'crashRuntime',
            downMs: dice.chance(0.2) ? dice.between(1, 90_000) : dice.between(1, 5000),
            lost: dice.pick(['none', 'half', 'all']),
          }),
      ],
      [0.5, (at) => this.#do({ atMs: at, do: 'networkDown', forMs: dice.between(1, 20_000) })],
      [this.#node.cluster ? 14 : 0, (at) => this.#api(at)],
      [5, (at) => this.#killKubelet(at)],
      [1, (at) => this.#do({ atMs: at, do: 'restartKubelet', downMs: dice.between(0, 3000) })],
      [
        0.5,
        (at) =>
          this.#do({ atMs: at, do: 'jumpClock', ms: dice.pick([-3_600_000, -5000, 7000, 3_600_000, 86_400_000]) }),
      ],
    ]);
    act(atMs);
  }

  #addPod(atMs: number): void {
    const name = `p${this.#dice.between(1, 5)}`;
    const pod = generatePod(this.#dice, name, `${name}-u${++this.#uids}`);
    this.#write(atMs, `${name}.yaml`, pod);
  }

  /** The same pod with another spec, or the same name under another UID, or as it was before. */
  #changePod(atMs: number): void {
    const entry = this.#anyFile();
    if (entry === undefined) {
      this.#addPod(atMs);
      return;
    }
    const [file, pod] = entry;
    this.#write(atMs, file, this.#dice.chance(0.5) ? changePod(pod) : { ...pod, uid: `${pod.name}-u${++this.#uids}` });
  }

  #removePod(atMs: number): void {
    const entry = this.#anyFile();
    if (entry === undefined) {
      this.#addPod(atMs);
      return;
    }
    const [file, pod] = entry;
    this.#files.delete(file);
    this.#gone.push(pod);
    this.#do({ atMs, do: 'removeManifest', file });
    // The same UID comes again, soon or later.
    if (this.#dice.chance(0.3)) this.#write(atMs + this.#dice.between(0, 15_000), file, pod);
  }

  /** A pod that was there before comes back, under another file's name. */
  #replacePod(atMs: number): void {
    const pod = this.#gone.pop();
    if (pod === undefined) {
      this.#changePod(atMs);
      return;
    }
    this.#write(atMs, this.#dice.chance(0.5) ? `${pod.name}.yaml` : `z-${pod.name}.yaml`, pod);
  }

  #breakManifest(atMs: number): void {
    const entry = this.#anyFile();
    if (entry === undefined) {
      this.#addPod(atMs);
      return;
    }
    const [file, pod] = entry;
    this.#do({ atMs, do: 'breakManifest', file, content: this.#dice.pick(BROKEN) });
    this.#write(atMs + this.#dice.between(1000, 30_000), file, this.#dice.chance(0.7) ? pod : changePod(pod));
  }

  #serve(atMs: number): void {
    const dice = this.#dice;
    const kept = this.#served.filter(() => dice.chance(0.6)).map((pod) => (dice.chance(0.2) ? changePod(pod) : pod));
    const name = `h${dice.between(1, 3)}`;
    const names = new Set(kept.map((pod) => pod.name));
    const more = names.has(name) ? [] : [generatePod(dice, name, `${name}-u${++this.#uids}`)];
    this.#served = [...kept, ...more];
    this.#do({ atMs, do: 'serve', pods: this.#served });
  }

  #removeAll(atMs: number): void {
    for (const file of this.#files.keys()) this.#do({ atMs, do: 'removeManifest', file });
    this.#files.clear();
    if (this.#node.http) this.#do({ atMs, do: 'serve', pods: [] });
    for (const pod of this.#inApi.splice(0)) this.#deleteInApi(atMs, pod);
  }

  #api(atMs: number): void {
    const dice = this.#dice;
    const act = dice.weighted<() => void>([
      [3, () => this.#createInApi(atMs)],
      [3, () => this.#deleteInApi(atMs, this.#inApi.splice(dice.between(0, 9), 1)[0])],
      [1, () => this.#deleteMirror(atMs)],
      [2, () => this.#do({ atMs, do: 'apiAway', forMs: this.#long() })],
      [
        3,
        () =>
          this.#do({
            ...{ atMs, do: 'apiFaults', forMs: dice.between(1000, 60_000) },
            ...{ requests: dice.pick([0.1, 0.3, 0.7] as const), watches: dice.pick([0.2, 0.6, 1] as const) },
          }),
      ],
      [1, () => this.#do({ atMs, do: 'apiCompact' })],
    ]);
    act();
  }

  /** Mostly seconds, sometimes an hour. */
  #long(): number {
    return this.#dice.chance(0.05) ? 3_600_000 : this.#dice.between(500, 90_000);
  }

  #createInApi(atMs: number): void {
    const name = `a${++this.#uids}`;
    const gate = this.#dice.chance(0.3);
    const pod = { ...generatePod(this.#dice, name, `${name}-u`), ...(gate && { gate }) };
    this.#inApi.push(pod);
    this.#do({ atMs, do: 'apiCreate', pod });
    if (gate) this.#do({ atMs: atMs + this.#dice.between(0, 30_000), do: 'apiGate', name });
  }

  #deleteInApi(atMs: number, pod: PodPlan | undefined): void {
    if (pod === undefined) this.#createInApi(atMs);
    else this.#do({ atMs, do: 'apiDelete', name: pod.name, uid: pod.uid, force: this.#dice.chance(0.15) });
  }

  #deleteMirror(atMs: number): void {
    const entry = this.#anyFile();
    if (entry !== undefined) this.#do({ atMs, do: 'apiDeleteMirror', name: `${entry[1].name}-${NODE_NAME}` });
  }

  #rpcFault(atMs: number): void {
    const dice = this.#dice;
    const rpc: RpcName = dice.chance(0.7) ? dice.pick(WRITES) : dice.pick(READS);
    this.#do({
      atMs,
      do: 'rpcFault',
      rpc,
      fault: this.#fault(),
      skip: dice.chance(0.6) ? 0 : dice.between(1, 5),
      times: dice.weighted([
        [6, 1],
        [2, 2],
        [1, 5],
      ]),
    });
  }

  #fault(): RpcFault {
    const dice = this.#dice;
    return dice.weighted<RpcFault>([
      [2, { kind: 'error', code: dice.pick(['UNAVAILABLE', 'UNKNOWN', 'INTERNAL', 'DEADLINE_EXCEEDED']) }],
      [2, { kind: 'delay', delayMs: dice.between(1, 20_000) }],
      [1, { kind: 'hang', timeoutMs: dice.chance(0.2) ? 120_000 : dice.between(1, 15_000) }],
      [3, { kind: 'lateSuccess', timeoutMs: dice.between(0, 8000), workDelayMs: dice.between(0, 25_000) }],
      [2, { kind: 'answerLost' }],
    ]);
  }

  #eventFault(atMs: number): void {
    const dice = this.#dice;
    this.#do({
      atMs,
      do: 'eventFault',
      event: dice.pick(['*', 'created', 'started', 'stopped', 'deleted']),
      fault: dice.weighted<EventFault>([
        [1, { kind: 'drop' }],
        [1, { kind: 'duplicate' }],
        [1, { kind: 'delay', delayMs: dice.between(1, 10_000) }],
      ]),
      times: dice.between(1, 5),
    });
  }

  #fileFault(atMs: number): void {
    const dice = this.#dice;
    const fault = {
      atMs,
      do: 'fileFault',
      code: dice.pick(['ENOSPC', 'EIO'] as const),
      path: dice.pick([ROOT_DIRECTORY, `${ROOT_DIRECTORY}/pods`, POD_LOGS_DIRECTORY, '/var/log/containers']),
      forMs: dice.between(1, 20_000),
    } as const;
    const operations = ['mkdir', 'write', 'open', 'remove', 'readdir', 'rename', 'stat'] as const;
    this.#do(dice.chance(0.5) ? fault : { ...fault, operation: dice.pick(operations) });
  }

  #killContainer(atMs: number): void {
    const dice = this.#dice;
    const oomKilled = dice.chance(0.2);
    const exitCode = oomKilled ? 137 : dice.pick([0, 1, 137]);
    this.#do({ atMs, do: 'killContainer', nth: dice.between(0, 9), exitCode, oomKilled });
  }

  #killKubelet(atMs: number): void {
    const dice = this.#dice;
    this.#do({
      atMs,
      do: 'killKubelet',
      afterCalls: dice.chance(0.3) ? 0 : dice.between(1, 40),
      effect: dice.pick(['before', 'after']),
      inFlight: dice.pick(['cancelled', 'completed']),
      downMs: dice.chance(0.7) ? dice.between(0, 2000) : dice.between(0, 20_000),
    });
  }

  #write(atMs: number, file: string, pod: PodPlan): void {
    this.#files.set(file, pod);
    this.#do({ atMs, do: 'writeManifest', file, pod });
  }

  #do(action: Action): void {
    this.#actions.push(action);
  }

  #anyFile(): readonly [string, PodPlan] | undefined {
    const entries = [...this.#files];
    return entries.length === 0 ? undefined : entries[this.#dice.between(0, entries.length - 1)];
  }
}
