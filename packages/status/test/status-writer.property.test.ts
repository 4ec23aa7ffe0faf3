import { seededRandom } from '@node-agent/async';
import type { Pod, PodStatus } from '@node-agent/pod-spec';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { makePod } from './builders.ts';
import { apiError, type Fault } from './fake-api.ts';
import { setUpWriter, type WriterSetUp } from './writer-builders.ts';

const NAMES = ['a', 'b'] as const;
const podOf = (name: string): Pod => makePod({}, { metadata: { name, namespace: 'default', uid: `uid-${name}` } });

type Step =
  | { readonly do: 'set'; readonly name: string; readonly phase: string }
  | { readonly do: 'finish'; readonly name: string }
  | { readonly do: 'containers'; readonly name: string; readonly running: boolean }
  | { readonly do: 'resources'; readonly name: string; readonly held: boolean }
  | { readonly do: 'api'; readonly name: string; readonly change: 'fail' | 'delete' | 'write over' | 'gate' }
  | { readonly do: 'watch'; readonly name: string; readonly shows: 'nothing' | 'what is' | 'what was' }
  | { readonly do: 'fault'; readonly fault: Fault | undefined }
  | { readonly do: 'wait'; readonly ms: number };

const name = fc.constantFrom(...NAMES);
const fault = fc.oneof(
  fc.constant(undefined),
  fc.record({
    delayMs: fc.integer({ min: 0, max: 20_000 }),
    error: fc.constantFrom(apiError(undefined), apiError(409), apiError(429), apiError(500)),
    lost: fc.boolean(),
  }),
  fc.record({ delayMs: fc.integer({ min: 0, max: 20_000 }) }),
);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('set' as const),
      name,
      phase: fc.constantFrom('Pending', 'Running', 'Running', 'Succeeded', 'Failed'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('finish' as const), name }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('containers' as const), name, running: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('resources' as const), name, held: fc.boolean() }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('watch' as const),
      name,
      shows: fc.constantFrom('nothing' as const, 'what is' as const, 'what was' as const),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('api' as const),
      name,
      change: fc.constantFrom('fail' as const, 'delete' as const, 'write over' as const, 'gate' as const),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('fault' as const), fault }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 15_000 }) }) },
);

const gate = { type: 'example.com/gate', status: 'True' };

/** Each status contains its version in a field that is always written, even if other changes are delayed. */
class World {
  readonly setUp: WriterSetUp;
  readonly newest = new Map<string, string>();
  readonly gated = new Set<string>();
  readonly finished = new Set<string>();
  #changes = 0;

  constructor(seed: number) {
    this.setUp = setUpWriter({}, seededRandom(seed));
    for (const one of NAMES) this.setUp.api.put(podOf(one));
  }

  async take(next: Step): Promise<void> {
    const { api, clock, held, manager, running } = this.setUp;
    switch (next.do) {
      case 'set': {
        const hostIP = `v${++this.#changes}`;
        this.newest.set(next.name, hostIP);
        manager.setPodStatus(podOf(next.name), { phase: next.phase, hostIP });
        break;
      }
      case 'finish':
        // The pod workers report a pod as finished when nothing of it can run any more, and never start it again.
        running.delete(`uid-${next.name}`);
        this.finished.add(next.name);
        manager.terminatePod(podOf(next.name));
        break;
      case 'containers':
        if (next.running && !this.finished.has(next.name)) running.add(`uid-${next.name}`);
        else running.delete(`uid-${next.name}`);
        break;
      case 'resources':
        held[next.held ? 'add' : 'delete'](`uid-${next.name}`);
        break;
      case 'watch':
        this.#setWatch(next.name, next.shows);
        break;
      case 'api':
        this.#changeInApi(next.name, next.change);
        break;
      case 'fault':
        api.fault = () => next.fault;
        break;
      case 'wait':
        await clock.advance(next.ms);
    }
  }

  #setWatch(podName: string, shows: 'nothing' | 'what is' | 'what was'): void {
    const { api, stale, unseen } = this.setUp;
    const uid = `uid-${podName}`;
    const now = api.get(podName);
    unseen[shows === 'nothing' ? 'add' : 'delete'](uid);
    if (shows === 'what was' && now !== undefined) stale.set(uid, now);
    else stale.delete(uid);
  }

  #changeInApi(podName: string, change: 'fail' | 'delete' | 'write over' | 'gate'): void {
    const { api } = this.setUp;
    const pod = api.get(podName);
    if (pod === undefined) return;
    const status: PodStatus = pod.status ?? {};
    const deletionTimestamp = '2026-01-01T00:00:00Z';
    const terminal = status.phase === 'Succeeded' || status.phase === 'Failed';
    if (change === 'fail' && !terminal) api.put({ ...pod, status: { ...status, phase: 'Failed', reason: 'NodeLost' } });
    if (change === 'delete') api.put({ ...pod, metadata: { ...pod.metadata, deletionTimestamp } });
    if (change === 'write over') api.put({ ...pod, status: { ...status, hostIP: 'wrong' } });
    if (change === 'gate') {
      this.gated.add(podName);
      const others = (status.conditions ?? []).filter(({ type }) => type !== gate.type);
      api.put({ ...pod, status: { ...status, conditions: [...others, gate] } });
    }
  }
}

test('S1 S2 S3 S4 S5 S8: with random failures, the API server ends with the newest status', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), fc.integer(), async (steps, seed) => {
      const world = new World(seed);
      const { api, clock, held, running, stale, stop, unseen } = world.setUp;
      const deletedWhileHeld: string[] = [];
      const toldWhileRunning: string[] = [];
      const { deletePod, patchPodStatus } = api;
      api.deletePod = (...args) => {
        if (held.has(args[2].uid)) deletedWhileHeld.push(args[1]);
        return deletePod.apply(api, args);
      };
      api.patchPodStatus = (...args) => {
        const { phase } = args[3].status;
        if (running.has(args[2]) && (phase === 'Succeeded' || phase === 'Failed')) toldWhileRunning.push(args[1]);
        return patchPodStatus.apply(api, args);
      };

      for (const one of steps) await world.take(one);
      api.fault = () => undefined;
      held.clear();
      running.clear();
      unseen.clear();
      stale.clear();
      await clock.advance(60_000);

      expect(api.mostAtOnce).toBeLessThanOrEqual(1);
      expect(deletedWhileHeld).toEqual([]);
      expect(toldWhileRunning).toEqual([]);
      for (const phases of api.phases.values()) {
        const ended = phases.findIndex((phase) => phase === 'Succeeded' || phase === 'Failed');
        if (ended >= 0) expect(phases.slice(ended + 1)).toEqual([]);
      }
      for (const podName of NAMES) {
        const pod = api.get(podName);
        const hostIP = world.newest.get(podName);
        if (hostIP !== undefined && pod !== undefined) expect(pod.status?.hostIP).toBe(hostIP);
        if (world.finished.has(podName)) expect(pod?.metadata.deletionTimestamp).toBeUndefined();
        else expect(pod).toBeDefined();
        if (pod !== undefined && world.gated.has(podName)) expect(pod.status?.conditions).toContainEqual(gate);
      }

      // When everything is written, no further requests follow.
      const calls = api.calls.length;
      await clock.advance(60_000);
      expect(api.calls).toHaveLength(calls);
      await stop();
      expect(clock.pendingTimers).toBe(0);
    }),
    { numRuns: 300 },
  );
});
