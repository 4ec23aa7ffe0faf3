import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type GcContainer, planContainerGc } from '../src/plan-containers.ts';
import { type ContainerGcPolicy, defaultPolicy, type PodStateProvider } from '../src/policy.ts';

const NOW = 1000;
const ready = { allSourcesReady: true, evictNonDeletedPods: false };

/**
 * @param gone UIDs of pods that no longer exist @param ended UIDs of pods whose containers are stopped @param evicted
 * UIDs of evicted pods that are still terminating
 */
function pods(
  gone: readonly string[] = [],
  ended: readonly string[] = [],
  evicted: readonly string[] = [],
): PodStateProvider {
  return {
    shouldPodContentBeRemoved: (uid) => gone.includes(uid) || evicted.includes(uid),
    shouldPodRuntimeBeRemoved: (uid) => gone.includes(uid) || ended.includes(uid),
  };
}

/** Parses `pod/name@created`, optionally with `#attempt` (default: `created`) and `:state` (default: exited). */
function container(text: string): GcContainer {
  const [, podUid = '', name = '', created = '', attempt = created, state = 'exited'] =
    /^(\w+)\/(\w+)@(\d+)(?:#(\d+))?(?::(\w+))?$/.exec(text) ?? [];
  const createdAtMs = Number(created);
  return { id: text, podUid, name, createdAtMs, attempt: Number(attempt), state: state as GcContainer['state'] };
}

/** Returns whether a container has reached the minimum age. A creation time in the future counts as old. */
function isOld(createdAtMs: number, minAgeMs: number): boolean {
  return createdAtMs <= NOW - minAgeMs || createdAtMs > NOW;
}

function plan(
  texts: readonly string[],
  policy: Partial<ContainerGcPolicy> = {},
  state: PodStateProvider = pods(),
  options = ready,
): string[] {
  const planned = planContainerGc(texts.map(container), { ...defaultPolicy, ...policy }, NOW, state, options);
  return planned.map(({ id }) => id);
}

describe('planContainerGc', () => {
  it('keeps the newest dead container of each name, and removes the oldest first', () => {
    expect(plan(['a/x@3', 'a/x@1', 'a/x@2', 'a/y@1', 'b/x@1'])).toEqual(['a/x@1', 'a/x@2']);
  });

  it('keeps running containers and does not count them', () => {
    expect(plan(['a/x@3:running', 'a/x@2', 'a/x@1'])).toEqual(['a/x@1']);
    expect(plan(['a/x@3:running', 'a/x@2'], { maxPerPodContainer: 0 })).toEqual(['a/x@2']);
  });

  it('treats containers in an unknown state as dead', () => {
    expect(plan(['a/x@3', 'a/x@2:unknown', 'a/x@1'])).toEqual(['a/x@1', 'a/x@2:unknown']);
  });

  it('C2: keeps the newest terminated container even if a newer one was created but not started', () => {
    expect(plan(['a/x@3:created', 'a/x@2', 'a/x@1'])).toEqual(['a/x@1']);
    expect(plan(['a/x@3:created', 'a/x@2'], { maxPerPodContainer: 0 })).toEqual([]);
    expect(plan(['a/x@990:created', 'a/x@2'], { maxPerPodContainer: 0, minAgeMs: 100 })).toEqual([]);
    expect(plan(['a/x@4:created', 'a/x@3:created', 'a/x@2'])).toEqual(['a/x@3:created']);
    expect(plan(['a/x@4:created', 'a/x@3'], {}, pods(['a']))).toEqual(['a/x@3', 'a/x@4:created']);
    expect(plan(['a/x@4:created'], {}, pods(['a']))).toEqual(['a/x@4:created']);
  });

  it('C2: determines the newest record by its attempt number if the clock was set back', () => {
    expect(plan(['a/x@900#1', 'a/x@10#2'])).toEqual(['a/x@900#1']);
  });

  it('keeps young containers and does not count them', () => {
    expect(plan(['a/x@950', 'a/x@901', 'a/x@2', 'a/x@1'], { minAgeMs: 100 })).toEqual(['a/x@1']);
    expect(plan(['a/x@900', 'a/x@2'], { minAgeMs: 100 })).toEqual(['a/x@2']);
  });

  it('does not treat a container with a creation time in the future as young', () => {
    expect(plan(['a/x@3600', 'a/x@3000'], {}, pods(['a']))).toEqual(['a/x@3000', 'a/x@3600']);
    expect(plan(['a/x@3600', 'a/x@3000'], { minAgeMs: 100 }, pods(['a']))).toEqual(['a/x@3000', 'a/x@3600']);
  });

  it('removes all containers of a removed pod, but only if every pod source is ready', () => {
    const texts = ['a/x@2', 'a/x@1', 'b/x@1'];
    expect(plan(texts, {}, pods(['a']))).toEqual(['a/x@1', 'a/x@2']);
    expect(plan(texts, {}, pods(['a']), { ...ready, allSourcesReady: false })).toEqual(['a/x@1']);
  });

  it('removes all containers of a terminated pod only if the disk is short of space', () => {
    const texts = ['a/x@2', 'a/x@1'];
    expect(plan(texts, {}, pods([], ['a']))).toEqual(['a/x@1']);
    expect(plan(texts, {}, pods([], ['a']), { ...ready, evictNonDeletedPods: true })).toEqual(['a/x@1', 'a/x@2']);
  });

  it('S3: keeps the records of an evicted pod until the pod has terminated', () => {
    const texts = ['a/x@1', 'a/y@2'];
    for (const evictNonDeletedPods of [false, true]) {
      expect(plan(texts, {}, pods([], [], ['a']), { ...ready, evictNonDeletedPods })).toEqual([]);
      expect(plan(texts, {}, pods([], ['a'], ['a']), { ...ready, evictNonDeletedPods })).toEqual(texts);
    }
  });

  it('keeps all containers if the policy has no limits', () => {
    expect(plan(['a/x@3', 'a/x@2', 'a/x@1'], { maxPerPodContainer: -1 })).toEqual([]);
  });

  it("divides the node's limit evenly, then removes the oldest", () => {
    const texts = ['x', 'y'].flatMap((name, unit) => [
      `a/${name}@500:running`,
      ...[4, 3, 2, 1].map((n) => `a/${name}@${n * 10 + unit}`),
    ]);
    expect(plan(texts, { maxPerPodContainer: -1, maxContainers: 4 })).toEqual(['a/x@10', 'a/x@20', 'a/y@11', 'a/y@21']);
    expect(plan(texts, { maxPerPodContainer: -1, maxContainers: 1 }).slice(-1)).toEqual(['a/x@40']);
  });

  it("divides the node's limit only among containers with dead records", () => {
    const texts = ['a/x@4', 'a/x@3', 'a/x@2', 'a/x@1', 'a/y@500:running', 'b/y@500:running'];
    expect(plan(texts, { maxPerPodContainer: -1, maxContainers: 3 })).toEqual(['a/x@1']);
  });

  it("removes nothing for the node's limit if the node does not exceed it", () => {
    const texts = ['a/x@3', 'a/x@2', 'a/x@1', 'a/y@1'];
    expect(plan(texts, { maxPerPodContainer: -1, maxContainers: 4 })).toEqual([]);
    expect(plan(['a/x@3:running', 'a/x@2'], { maxPerPodContainer: -1, maxContainers: 0 })).toEqual(['a/x@2']);
  });

  it('leaves one record to each container before any keeps two, then removes the oldest first', () => {
    const texts = ['x', 'y', 'z'].flatMap((name, at) => [
      `a/${name}@500:running`,
      ...[1, 0].map((n) => `a/${name}@${at * 10 + n}`),
    ]);
    const of = (maxContainers: number): string[] => plan(texts, { maxPerPodContainer: -1, maxContainers });
    expect(of(2)).toEqual(['a/x@0', 'a/y@10', 'a/z@20', 'a/x@1']);
    expect(of(1)).toEqual(['a/x@0', 'a/y@10', 'a/z@20', 'a/x@1', 'a/y@11']);
  });

  it('chooses the same of two equally old containers in any order of the list', () => {
    const texts = ['a/x@500:running', 'a/x@10', 'a/y@500:running', 'a/y@10'];
    for (const listed of [texts, texts.toReversed()]) {
      expect(plan(listed, { maxPerPodContainer: -1, maxContainers: 1 })).toEqual(['a/y@10']);
    }
  });

  it('treats a container created at this moment as young', () => {
    expect(plan(['a/x@1000'], { minAgeMs: 100 }, pods(['a']))).toEqual([]);
    expect(plan(['a/x@1000'], {}, pods(['a']))).toEqual(['a/x@1000']);
  });

  it('if a record below the minimum age has run, all older records of its container are removable', () => {
    expect(plan(['a/x@950', 'a/x@2', 'a/x@1'], { minAgeMs: 100, maxPerPodContainer: 0 })).toEqual(['a/x@1', 'a/x@2']);
  });

  it('treats a created container as dead if another container of the same name runs', () => {
    expect(plan(['a/x@3:created', 'a/x@2:running'], { maxPerPodContainer: 0 })).toEqual(['a/x@3:created']);
  });

  it('C3: keeps the newest record of every container that is not running while its pod continues, for any policy', () => {
    const texts = ['a/init@2', 'a/init@1', 'a/main@3', 'b/init@1'];
    expect(plan(texts, { maxPerPodContainer: 0, maxContainers: 0 })).toEqual(['a/init@1']);
    expect(plan(texts, { maxPerPodContainer: 0 }, pods(['a', 'b']))).toHaveLength(4);
  });

  const state = fc.constantFrom<GcContainer['state']>('created', 'running', 'exited', 'unknown');
  const anyContainer = fc.record({
    podUid: fc.constantFrom('a', 'b', 'c'),
    name: fc.constantFrom('x', 'y'),
    state,
    attempt: fc.nat(20),
    createdAtMs: fc.integer({ min: 0, max: 2000 }),
  });
  const anyContainers = fc
    .array(anyContainer, { maxLength: 30 })
    .map((list) => list.map((fields, index) => ({ ...fields, id: String(index) })));
  const anyPolicy = fc.record({
    minAgeMs: fc.constantFrom(0, 500),
    maxPerPodContainer: fc.integer({ min: -1, max: 3 }),
    maxContainers: fc.integer({ min: -1, max: 10 }),
  });

  it('C3: returns no container twice, and none that is running or too young, for any set of containers', () => {
    fc.assert(
      fc.property(
        anyContainers,
        anyPolicy,
        fc.subarray(['a', 'b', 'c']),
        fc.boolean(),
        (all, policy, gone, isReady) => {
          const options = { allSourcesReady: isReady, evictNonDeletedPods: false };
          const removed = new Set(planContainerGc(all, policy, NOW, pods(gone), options));
          const planned = planContainerGc(all, policy, NOW, pods(gone), options);
          expect(removed.size).toBe(planned.length);
          for (const { state, createdAtMs } of removed) {
            expect(state).not.toBe('running');
            expect(isOld(createdAtMs, policy.minAgeMs)).toBe(true);
          }
          for (const { podUid, name } of all) {
            const unit = all.filter((other) => other.podUid === podUid && other.name === name);
            const left = unit.filter((other) => !removed.has(other));
            if (!gone.includes(podUid) || !isReady) expect(left.length).toBeGreaterThan(0);
            const old = left.filter(
              ({ state, createdAtMs }) => state !== 'running' && isOld(createdAtMs, policy.minAgeMs),
            );
            if (policy.maxPerPodContainer >= 0) {
              // The newest created container may be about to start, so it is kept in addition.
              expect(old.length).toBeLessThanOrEqual(Math.max(policy.maxPerPodContainer, 1) + 1);
            }
            // Of the terminated containers, the kept ones are newer than the removed ones.
            const ended = unit.filter(({ state }) => state === 'exited' || state === 'unknown');
            for (const kept of ended.filter((one) => old.includes(one))) {
              for (const other of ended)
                if (removed.has(other)) expect(other.attempt).toBeLessThanOrEqual(kept.attempt);
            }
          }
        },
      ),
    );
  });
});
