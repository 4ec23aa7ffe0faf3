import { seededRandom } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import type { Pod } from '@node-agent/pod-spec';
import { noEvents, noMetrics, silentLogger } from '@node-agent/telemetry';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type PodWorkerPhase, PodWorkers } from '../src/index.ts';
import { FreshCache, pod, runtimePod, ScriptedSyncer, type StepCall } from './kit.ts';

// Three static pods of one full name, a static pod and two API pods with their own names.
const PODS: Readonly<Record<string, Pod>> = {
  s1: pod({ uid: 's1', name: 'twin', static: true }),
  s2: pod({ uid: 's2', name: 'twin', static: true }),
  s3: pod({ uid: 's3', name: 'twin', static: true }),
  s4: pod({ uid: 's4', name: 'single', static: true }),
  a1: pod({ uid: 'a1', name: 'a1' }),
  a2: pod({ uid: 'a2', name: 'a2' }),
};
const TWINS = ['s1', 's2', 's3'];
const ORPHAN = 'orphan';
const PHASES: readonly (PodWorkerPhase | 'unknown')[] = ['unknown', 'syncing', 'terminating', 'terminated', 'finished'];

const uid = fc.constantFrom(...Object.keys(PODS));
const grace = fc.option(fc.integer({ min: 0, max: 60 }), { nil: undefined });
const operation = fc.oneof(
  { weight: 3, arbitrary: fc.record({ op: fc.constant('create' as const), uid }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('update' as const), uid }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('delete' as const), uid, grace }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('fail' as const), uid }) },
  { weight: 3, arbitrary: fc.record({ op: fc.constant('kill' as const), uid, grace, evict: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({ op: fc.constant('runtimeKill' as const), uid: fc.oneof(uid, fc.constant(ORPHAN)) }),
  },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('remove' as const), uid }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('wake' as const), uid }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('housekeeping' as const) }) },
  { weight: 4, arbitrary: fc.record({ op: fc.constant('advance' as const), ms: fc.integer({ min: 0, max: 20_000 }) }) },
);
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;
const stepPlan = fc.record({
  durationMs: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 9000 })),
  fails: fc.boolean(),
  isTerminal: fc.nat(9).map((n) => n === 0),
  deaf: fc.boolean(),
});
type StepPlan = typeof stepPlan extends fc.Arbitrary<infer T> ? T : never;

/** The test's own record of one UID, from its actions and the syncer's calls. */
interface Life {
  killed: boolean;
  synced: boolean;
  terminating: 'no' | 'done';
  terminated: 'no' | 'done';
  graceSeconds: number | undefined;
  /**
   * Status functions that arrived while the pod was terminating, and those passed to the last successful terminating
   * step.
   */
  asked: string[];
  applied: string;
}

class World {
  readonly clock = new FakeClock();
  readonly syncer = new ScriptedSyncer(this.clock);
  readonly workers: PodWorkers;
  readonly lives = new Map<string, Life>();
  readonly config = new Set<string>();
  readonly running = new Map<string, number>();
  readonly completed: number[] = [];
  readonly phases = new Map<string, PodWorkerPhase | 'unknown'>();
  /** Static pods of the shared name in order of arrival, while they wait. */
  line: string[] = [];
  housekept = false;
  /** Pods that terminated as pods that only the runtime knows, and have had no worker since. */
  readonly terminatedAsOrphans = new Set<string>();
  broken: unknown;
  readonly stop = new AbortController();

  constructor(plans: readonly StepPlan[], seed: number) {
    let next = 0;
    this.syncer.script = ({ step }) => {
      const plan = plans[next++ % plans.length];
      if (plan === undefined) throw new Error('no plan');
      const { durationMs, deaf } = plan;
      // The last of three attempts always succeeds, so that every pod finishes.
      const fails = plan.fails && next % 3 !== 0;
      return {
        durationMs,
        deaf,
        fail: fails ? new Error('scripted') : undefined,
        isTerminal: step === 'syncPod' && plan.isTerminal,
      };
    };
    this.syncer.onEdge = (call) => {
      // The pod workers treat a thrown error as the step's failure, so it is kept for check().
      try {
        this.#onEdge(call);
      } catch (error) {
        this.broken ??= error;
      }
    };
    this.workers = new PodWorkers({
      syncer: this.syncer,
      podCache: new FreshCache(this.clock),
      clock: this.clock,
      random: seededRandom(seed),
      logger: silentLogger,
      metrics: noMetrics,
      recorder: noEvents,
    });
    void this.workers.start(this.stop.signal);
  }

  life(of: string): Life {
    const life = this.lives.get(of) ?? {
      killed: false,
      synced: false,
      terminating: 'no',
      terminated: 'no',
      graceSeconds: undefined,
      asked: [],
      applied: '',
    };
    this.lives.set(of, life);
    return life;
  }

  kill(of: string, graceSeconds: number | undefined): void {
    const life = this.life(of);
    life.killed = true;
    // The first kill may request more than the pod's own 30 s; afterwards the grace period only gets shorter.
    const asked = graceSeconds === undefined ? undefined : Math.max(1, graceSeconds);
    life.graceSeconds = Math.min(life.graceSeconds ?? asked ?? 30, asked ?? Number.POSITIVE_INFINITY);
    this.line = this.line.filter((waiting) => waiting !== of);
  }

  async do(operation: Operation): Promise<void> {
    switch (operation.op) {
      case 'advance':
        await this.clock.advance(operation.ms);
        return;
      case 'housekeeping':
        this.housekeeping();
        break;
      case 'wake':
        this.workers.wake(operation.uid);
        break;
      case 'remove':
        this.config.delete(operation.uid);
        break;
      case 'create':
      case 'update':
        this.config.add(operation.uid);
        this.tell(operation.uid, operation.op, PODS[operation.uid]);
        break;
      case 'fail':
      case 'delete': {
        this.config.add(operation.uid);
        const base = PODS[operation.uid];
        const known = this.workers.explain(operation.uid) !== undefined;
        const seconds = operation.op === 'delete' ? operation.grace : undefined;
        this.tell(operation.uid, 'update', operation.op === 'fail' ? failed(base) : deleted(base, seconds));
        // The cache has read the runtime and found nothing running: the terminating step of a new Failed pod happened
        // earlier.
        if (!known && operation.op === 'fail') this.life(operation.uid).terminating = 'done';
        this.kill(operation.uid, seconds);
        break;
      }
      case 'kill': {
        const index = this.completed.push(0) - 1;
        this.workers.updatePod({
          updateType: 'kill',
          ...(PODS[operation.uid] !== undefined && { pod: PODS[operation.uid] as Pod }),
          killPodOptions: {
            completed: () => {
              this.completed[index] = (this.completed[index] ?? 0) + 1;
            },
            podStatusFn: (status) => ({ ...status, reason: `${status.reason ?? ''}<${index}>` }),
            evict: operation.evict,
            ...(operation.grace !== undefined && { gracePeriodSecondsOverride: operation.grace }),
          },
        });
        this.kill(operation.uid, operation.grace);
        const terminating = this.workers.explain(operation.uid)?.phase === 'terminating';
        if (terminating) this.life(operation.uid).asked.push(`<${index}>`);
        break;
      }
      case 'runtimeKill':
        this.workers.updatePod({ updateType: 'kill', runningPod: runtimePod(operation.uid) });
        this.kill(operation.uid, undefined);
        break;
    }
    await this.clock.settle();
  }

  tell(of: string, updateType: 'create' | 'update', what: Pod | undefined): void {
    if (what === undefined) throw new Error(`no pod ${of}`);
    if (TWINS.includes(of) && this.workers.explain(of) === undefined) this.line.push(of);
    this.workers.updatePod({ updateType, pod: what });
    this.life(of);
  }

  housekeeping(): void {
    const desired = [...this.config].flatMap((of) => PODS[of] ?? []);
    const before = new Map([...this.lives.keys()].map((of) => [of, this.workers.explain(of)]));
    const known = this.workers.syncKnownPods(desired);
    this.housekept = true;
    for (const [of, life] of [...this.lives]) {
      if (known.has(of)) {
        if (!this.config.has(of)) this.kill(of, undefined);
        continue;
      }
      const explained = before.get(of);
      // P3: a pod is forgotten only after both steps succeeded, or if no step was ever started.
      if (explained !== undefined && life.synced) {
        expect([of, life.terminating, life.terminated]).toEqual([of, 'done', 'done']);
      }
      this.forget(of);
    }
    for (const each of desired) if (!known.has(each.metadata.uid)) this.tell(each.metadata.uid, 'create', each);
  }

  forget(of: string): void {
    this.lives.delete(of);
    this.phases.delete(of);
    this.line = this.line.filter((waiting) => waiting !== of);
  }

  #onEdge(call: StepCall): void {
    const life = this.life(call.uid);
    const started = call.endedAtMs === undefined;
    const now = (this.running.get(call.uid) ?? 0) + (started ? 1 : -1);
    this.running.set(call.uid, now);
    // P2: one step of a pod at a time.
    expect(now).toBeLessThanOrEqual(1);
    if (!started) {
      if (call.ok && call.step === 'syncTerminatingPod') {
        life.terminating = 'done';
        life.applied = call.podStatusFn?.({}).reason ?? '';
      }
      if (call.ok && call.step === 'syncTerminatedPod') life.terminated = 'done';
      if (call.ok && call.step === 'syncTerminatingRuntimePod') this.terminatedAsOrphans.add(call.uid);
      return;
    }
    if (call.step === 'syncPod') {
      // P1, P3: no sync after a kill. P6: no sync of pods that only the runtime knows.
      expect([call.uid, life.killed]).toEqual([call.uid, false]);
      expect(call.uid).not.toBe(ORPHAN);
      if (TWINS.includes(call.uid) && !life.synced) {
        // P4: no other pod of the full name runs, and this pod was first in the queue.
        const others = TWINS.filter((twin) => twin !== call.uid && this.lives.get(twin)?.synced === true);
        expect(others.filter((twin) => this.workers.explain(twin)?.phase !== 'finished')).toEqual([]);
        expect(this.line[0]).toBe(call.uid);
        this.line.shift();
      }
      life.synced = true;
    }
    // P2: the termination uses the shortest requested grace period.
    if (call.step === 'syncTerminatingPod') expect(call.graceSeconds).toBeLessThanOrEqual(life.graceSeconds ?? 30);
    if (call.step === 'syncTerminatedPod') {
      expect(life.terminating).toBe('done');
      // P2: no status function is lost, and they apply in the order of the kills.
      expect(life.applied).toBe(life.asked.join(''));
    }
  }

  /** Checks the invariants that hold whenever no step is in progress. */
  check(): void {
    if (this.broken !== undefined) throw this.broken;
    let waits = 0;
    for (const of of [...Object.keys(PODS), ORPHAN]) {
      const explanation = this.workers.explain(of);
      if (explanation === undefined) {
        // P6: outside of housekeeping, only a pod that never had a spec is forgotten.
        this.lives.delete(of);
        this.phases.delete(of);
        // P5: an unknown pod counts as gone only after housekeeping, or after it has terminated as an orphan.
        const isStopped = this.housekept || this.terminatedAsOrphans.has(of);
        expect([of, this.workers.shouldPodContentBeRemoved(of)]).toEqual([of, this.housekept]);
        expect([of, this.workers.couldHaveRunningContainers(of)]).toEqual([of, !isStopped]);
        continue;
      }
      this.terminatedAsOrphans.delete(of);
      const { phase, activity } = explanation;
      // P1: a pod never returns to an earlier phase.
      expect(PHASES.indexOf(phase)).toBeGreaterThanOrEqual(PHASES.indexOf(this.phases.get(of) ?? 'unknown'));
      this.phases.set(of, phase);
      // A pod that terminated without a kill counts as killed.
      if (phase !== 'syncing') this.kill(of, undefined);
      // P7: every unfinished pod will be woken.
      if (activity.kind === 'backingOff' || activity.kind === 'idle' || activity.kind === 'coalescing') {
        waits++;
        expect(activity.untilMs).toBeGreaterThanOrEqual(this.clock.now());
        expect(activity.untilMs).toBeLessThanOrEqual(
          this.clock.now() + (activity.kind === 'coalescing' ? 100 : 90_000),
        );
      } else if (activity.kind === 'waitingForFullName') {
        expect(TWINS).toContain(of);
        const holder = activity.holderUid === undefined ? undefined : this.workers.explain(activity.holderUid)?.phase;
        expect([holder !== undefined && holder !== 'finished', holder]).toEqual([true, holder]);
      } else {
        expect(['running', 'finished']).toContain(activity.kind);
      }
    }
    // K4: only timers of the pod workers and of the scripted steps exist.
    const steps = [...this.running.values()].reduce((sum, n) => sum + n, 0);
    expect(this.clock.pendingTimers).toBe(waits + steps);
  }
}

function deleted(base: Pod | undefined, seconds: number | undefined): Pod | undefined {
  if (base === undefined) return undefined;
  const deletion = { deletionTimestamp: 'now', ...(seconds !== undefined && { deletionGracePeriodSeconds: seconds }) };
  return { ...base, metadata: { ...base.metadata, ...deletion } };
}

function failed(base: Pod | undefined): Pod | undefined {
  return base && { ...base, status: { phase: 'Failed' } };
}

it('P1 P2 P3 P4 P5 P6 P7: for any sequence of events the invariants hold after every step, and every pod finishes and leaves no state (K4)', async () => {
  const property = fc.asyncProperty(
    fc.array(operation, { minLength: 1, maxLength: 40 }),
    fc.array(stepPlan, { minLength: 1, maxLength: 12 }),
    fc.nat(),
    async (operations, plans, seed) => {
      const world = new World(plans, seed);
      for (const operation of operations) {
        await world.do(operation);
        world.check();
      }
      // In the final phase, no pod is desired any more.
      world.config.clear();
      for (let round = 0; round < 40; round++) {
        world.housekeeping();
        await world.clock.advance(20_000);
        world.check();
      }
      world.housekeeping();
      expect(world.workers.podCount).toBe(0);
      expect(world.clock.pendingTimers).toBe(0);
      // P2: every kill was completed once.
      expect(world.completed.filter((times) => times !== 1)).toEqual([]);
      // P4: no full name is still held, so the last pod of the shared name starts immediately.
      world.syncer.script = () => ({});
      world.tell('s3', 'create', PODS.s3);
      await world.clock.settle();
      expect(world.syncer.calls.at(-1)).toMatchObject({ step: 'syncPod', uid: 's3' });
      world.stop.abort();
    },
  );
  await fc.assert(property, { numRuns: 300 });
}, 120_000);
