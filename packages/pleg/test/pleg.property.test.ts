import { seededRandom } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import type { RuntimeContainerState, RuntimePodStatus } from '@node-agent/pod-spec';
import { noMetrics, silentLogger } from '@node-agent/telemetry';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Pleg, PodCache, snapshotOf } from '../src/index.ts';
import { type CallPlan, ScriptedRuntime, type Truth, truth } from './kit.ts';

const REPAIR_MS = 20_000;
const UIDS = ['a', 'b', 'c'] as const;

const uid = fc.constantFrom(...UIDS);
/** Whether and when the event of a change is delivered. */
const delivery = fc.constantFrom('once', 'twice', 'never', 'late');
const operation = fc.oneof(
  { weight: 5, arbitrary: fc.record({ op: fc.constant('start' as const), uid, delivery }) },
  { weight: 5, arbitrary: fc.record({ op: fc.constant('die' as const), uid, nth: fc.nat(5), delivery }) },
  { weight: 3, arbitrary: fc.record({ op: fc.constant('remove' as const), uid, nth: fc.nat(5), delivery }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('sandbox' as const), uid, delivery }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('removePod' as const), uid, delivery }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('hint' as const), uid }) },
  { weight: 3, arbitrary: fc.record({ op: fc.constant('ask' as const), uid, agoMs: fc.nat(2000) }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('cut' as const) }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('restartWithout' as const) }) },
  { weight: 8, arbitrary: fc.record({ op: fc.constant('advance' as const), ms: fc.nat(3000) }) },
);
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;
const callPlan = fc.record({
  beforeMs: fc.oneof(fc.constant(0), fc.nat(1500)),
  afterMs: fc.oneof(fc.constant(0), fc.nat(1500)),
  fails: fc.nat(4).map((n) => n === 0),
});

class World {
  readonly clock = new FakeClock();
  readonly runtime = new ScriptedRuntime(this.clock);
  readonly cache = new PodCache();
  readonly pleg: Pleg;
  readonly stop = new AbortController();
  /** History of each pod: its states, each with the time at which the state began. */
  readonly past = new Map<string, { fromMs: number; shape: string }[]>(
    UIDS.map((of) => [of, [{ fromMs: Number.NEGATIVE_INFINITY, shape: shape(truth({})) }]]),
  );
  readonly told: { type: string; containerId: string | undefined }[] = [];
  readonly late: string[] = [];
  readonly newest = new Map<string, number>();
  asked = 0;
  answered = 0;
  broken: unknown;
  #containers = 0;
  quiet = false;

  constructor(plans: readonly { beforeMs: number; afterMs: number; fails: boolean }[], seed: number) {
    let next = 0;
    this.runtime.plan = (): CallPlan => {
      const plan = plans[next++ % plans.length];
      if (plan === undefined || this.quiet) return {};
      const { beforeMs, afterMs, fails } = plan;
      return { beforeMs, afterMs, ...(fails && { fail: new Error('scripted') }) };
    };
    const { runtime, cache, clock } = this;
    const components = { runtime, cache, clock, random: seededRandom(seed), logger: silentLogger, metrics: noMetrics };
    this.pleg = new Pleg(components, { repairPeriodMs: REPAIR_MS, maxConcurrentReads: 2 });
    void this.pleg.start(this.stop.signal);
    void this.#read();
  }

  async #read(): Promise<void> {
    for await (const { type, containerId } of this.pleg.events) this.told.push({ type, containerId });
  }

  change(of: string, change: (state: Truth) => Truth | undefined, how: string): void {
    const state = change(this.runtime.pods.get(of) ?? truth({}));
    const gone = state === undefined || (state.containers.size === 0 && state.sandboxes.size === 0);
    this.runtime.set(of, gone ? undefined : state, true);
    this.past.get(of)?.push({ fromMs: this.clock.monotonic(), shape: shape(gone ? truth({}) : state) });
    if (how === 'late') this.late.push(of);
    else if (how !== 'never') this.runtime.say(of);
    if (how === 'twice') this.runtime.say(of);
  }

  set(of: string, id: string | undefined, to: RuntimeContainerState | undefined, how: string): void {
    if (id === undefined) return;
    const change = (state: Truth): Truth => {
      const containers = new Map(state.containers);
      if (to === undefined) containers.delete(id);
      else containers.set(id, to);
      return { ...state, containers };
    };
    this.change(of, change, how);
  }

  pick(of: string, state: RuntimeContainerState, nth: number): string | undefined {
    const ids = [...(this.runtime.pods.get(of)?.containers ?? [])].filter(([, is]) => is === state).map(([id]) => id);
    return ids[nth % Math.max(ids.length, 1)];
  }

  async do(operation: Operation): Promise<void> {
    switch (operation.op) {
      case 'advance':
        await this.clock.advance(operation.ms);
        for (const of of this.late.splice(0).reverse()) this.runtime.say(of);
        return;
      case 'start':
        this.set(operation.uid, `c${this.#containers++}`, 'running', operation.delivery);
        break;
      case 'die':
        this.set(operation.uid, this.pick(operation.uid, 'running', operation.nth), 'exited', operation.delivery);
        break;
      case 'remove':
        this.set(operation.uid, this.pick(operation.uid, 'exited', operation.nth), undefined, operation.delivery);
        break;
      case 'sandbox': {
        const flip = (state: Truth): Truth => {
          const ready = [...state.sandboxes.values()].includes('ready');
          return ready
            ? { ...state, sandboxes: new Map([...state.sandboxes.keys()].map((id) => [id, 'notReady'])) }
            : { ...state, sandboxes: new Map(state.sandboxes).set(`s${this.#containers++}`, 'ready') };
        };
        this.change(operation.uid, flip, operation.delivery);
        break;
      }
      case 'removePod':
        this.change(operation.uid, () => undefined, operation.delivery);
        break;
      case 'hint':
        this.pleg.hint(operation.uid);
        break;
      case 'ask':
        void this.ask(operation.uid, this.clock.monotonic() - operation.agoMs);
        break;
      case 'cut':
        this.runtime.cut();
        break;
      case 'restartWithout':
        this.runtime.events = this.runtime.events === 'none' ? 'on' : 'none';
        this.runtime.cut();
        break;
    }
    await this.clock.settle();
  }

  /** Requests a pod's status. The status must show a state that the pod had after the requested time. */
  async ask(of: string, minTimeMs: number): Promise<void> {
    this.asked++;
    let status: RuntimePodStatus;
    try {
      status = await this.cache.getNewerThan(of, minTimeMs, this.stop.signal);
    } catch {
      this.answered++;
      return;
    }
    this.answered++;
    const past = this.past.get(of) ?? [];
    // A state lasts until the next one begins. At the time of a change, both the old and the new state are valid.
    const possible = past.filter((_, i) => (past[i + 1]?.fromMs ?? Number.POSITIVE_INFINITY) >= minTimeMs);
    const fresh = possible.some((held) => held.shape === shape(snapshotOf(status))) && status.observedAtMs > minTimeMs;
    if (!fresh)
      this.broken ??= new Error(
        `asked for ${of} after ${minTimeMs}, got ${shape(snapshotOf(status))} of ${status.observedAtMs}`,
      );
  }

  check(): void {
    if (this.broken !== undefined) throw this.broken;
    for (const of of UIDS) {
      // The cached status of a pod must never become older.
      const observedAtMs = this.cache.get(of)?.observedAtMs;
      if (observedAtMs !== undefined) expect(observedAtMs).toBeGreaterThanOrEqual(this.newest.get(of) ?? 0);
      if (observedAtMs === undefined) this.newest.delete(of);
      else this.newest.set(of, observedAtMs);
      expect(this.runtime.active.get(of) ?? 0).toBeLessThanOrEqual(1);
    }
  }
}

function shape({ containers, sandboxes }: Truth): string {
  return JSON.stringify([[...containers].sort(), [...sandboxes].sort()]);
}

it("after a quiet repair period, the cache equals the runtime's state, each death was reported, and no status was older than requested", async () => {
  const property = fc.asyncProperty(
    fc.array(operation, { minLength: 1, maxLength: 60 }),
    fc.array(callPlan, { minLength: 1, maxLength: 10 }),
    fc.nat(),
    async (operations, plans, seed) => {
      const world = new World(plans, seed);
      for (const operation of operations) {
        await world.do(operation);
        world.check();
      }
      world.quiet = true;
      // The time is long enough for the last slow calls and one complete list.
      await world.clock.advance(REPAIR_MS + 20_000);
      world.check();
      for (const of of UIDS) {
        const entry = world.cache.get(of);
        expect([of, shape(snapshotOf(entry?.status))]).toEqual([of, world.past.get(of)?.at(-1)?.shape]);
        expect(entry?.error).toBeUndefined();
      }
      const has = (type: string, id: string): boolean =>
        world.told.some((event) => event.type === type && event.containerId === id);
      const running = new Set<string>();
      const exited = new Set<string>();
      for (const { containers, sandboxes } of world.runtime.pods.values()) {
        for (const [id, state] of containers) (state === 'running' ? running : exited).add(id);
        for (const [id, state] of sandboxes) (state === 'ready' ? running : exited).add(id);
      }
      for (const id of running) expect([id, has('ContainerStarted', id)]).toEqual([id, true]);
      for (const id of exited) expect([id, has('ContainerDied', id)]).toEqual([id, true]);
      for (const { type, containerId = '' } of world.told) {
        // Every container that was reported as started and no longer runs must have been reported as died. No running
        // container may have been reported as died.
        if (type === 'ContainerStarted' && !running.has(containerId)) {
          expect([containerId, has('ContainerDied', containerId)]).toEqual([containerId, true]);
        }
        if (type === 'ContainerDied') expect([containerId, running.has(containerId)]).toEqual([containerId, false]);
      }
      expect(world.answered).toBe(world.asked);
      expect(world.pleg.podCount).toBe(world.runtime.pods.size);
      world.stop.abort();
      await world.clock.settle();
      // K4: no timers and no waiting callers are left.
      expect([world.clock.pendingTimers, world.cache.waiting]).toEqual([0, 0]);
    },
  );
  await fc.assert(property, { numRuns: 400 });
}, 120_000);
