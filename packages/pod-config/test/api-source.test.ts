import { setImmediate } from 'node:timers/promises';
import { CoalescingQueue } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import type { Pod } from '@node-agent/pod-spec';
import { silentLogger } from '@node-agent/telemetry';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { apiPodProblem } from '../src/api-pod.ts';
import { ApiSource, type PodFeedChange } from '../src/api-source.ts';
import { PodConfig } from '../src/pod-config.ts';
import type { PodUpdate } from '../src/pod-update.ts';
import { podOf } from './helpers.ts';

const good = podOf({ uid: 'good' });

/**
 * A feed that a test fills. As in a reflector, a pod that is added and removed before its change is read leaves no
 * change.
 */
class FakeFeed {
  readonly #objects = new Map<string, Pod>();
  readonly #queue = new CoalescingQueue<string, PodFeedChange & { readonly isNew?: boolean }>();

  put(key: string, object: unknown): void {
    const known = this.#objects.get(key);
    const waiting = this.#queue.peek(key);
    const isNew = waiting === undefined ? known === undefined : waiting.isNew === true;
    if (object !== undefined) {
      this.#objects.set(key, object as Pod);
      this.#queue.push(key, { type: 'changed', key, object: object as Pod, isNew });
    } else if (known !== undefined) {
      this.#objects.delete(key);
      if (isNew) this.#queue.delete(key);
      else this.#queue.push(key, { type: 'deleted', key, object: known });
    }
  }

  async waitForSync(): Promise<void> {
    this.#queue.push('/', { type: 'synced' });
  }

  changes() {
    const queue = this.#queue;
    return {
      get size() {
        return queue.size;
      },
      async *[Symbol.asyncIterator]() {
        for await (const [, change] of queue) yield change;
      },
      [Symbol.dispose]: () => queue.close(),
    };
  }
}

function setUp(clock = new FakeClock()) {
  const config = new PodConfig({ clock });
  const feed = new FakeFeed();
  const events: string[] = [];
  const logged: unknown[] = [];
  const source = new ApiSource({
    feed,
    set: config.addSource('api'),
    clock,
    logger: { ...silentLogger, error: (fields) => void logged.push(fields) },
    recorder: {
      event: ({ namespace, name }, type, reason, message) =>
        void events.push(`${namespace}/${name} ${type} ${reason}: ${message}`),
    },
  });
  const end = new AbortController();
  const updates: PodUpdate[] = [];
  const start = (): void => {
    void source.start(end.signal);
    void (async () => {
      for await (const update of config.updates) updates.push(update);
    })();
  };
  /** Returns the updates since the last call. */
  const settled = async (): Promise<readonly PodUpdate[]> => {
    await setImmediate();
    await clock.advance(1);
    return updates.splice(0);
  };
  return { config, feed, events, logged, start, settled, end };
}

/** Returns the operations of updates, each with the UIDs and images of its pods. */
function told(updates: readonly PodUpdate[]): readonly (readonly string[])[] {
  return updates.map(({ op, pods }) => [
    op,
    ...pods.map(({ metadata, spec }) => `${metadata.uid} ${spec.containers[0]?.image}`),
  ]);
}

/** Creates a pod that counts how often its metadata is read. */
function countedPod(name: string, counts: { looks: number }, version = '1'): Pod {
  const pod = podOf({ uid: name });
  const metadata = { ...pod.metadata, name, resourceVersion: version };
  return {
    ...pod,
    get metadata() {
      counts.looks += 1;
      return metadata;
    },
  };
}

describe('ApiSource', () => {
  it('compares only the changed pod when one of 1,000 pods has changed', async () => {
    const { feed, start, settled } = setUp();
    const counts = { looks: 0 };
    for (let index = 0; index < 1000; index++) feed.put(`p${index}`, countedPod(`p${index}`, counts));
    start();
    expect((await settled()).map(({ op, pods }) => [op, pods.length])).toEqual([['ADD', 1000]]);
    // The first change after a list builds an index of the list; later changes use the index.
    feed.put('p0', countedPod('p0', counts, '2'));
    await settled();
    counts.looks = 0;
    feed.put('p500', { ...countedPod('p500', counts, '2'), status: { phase: 'Failed' } });
    expect((await settled()).map(({ op, pods }) => [op, pods.map(({ metadata }) => metadata.uid)])).toEqual([
      ['RECONCILE', ['p500']],
    ]);
    expect(counts.looks).toBeLessThan(30);
  });

  it('reads each pod of the first list a constant number of times, however long the list is', async () => {
    const looksPerPod = async (count: number): Promise<number> => {
      const { feed, start, settled } = setUp();
      const counts = { looks: 0 };
      for (let index = 0; index < count; index++) feed.put(`p${index}`, countedPod(`p${index}`, counts));
      start();
      await settled();
      return counts.looks / count;
    };
    expect(await looksPerPod(10)).toBeLessThan(30);
    expect(await looksPerPod(1000)).toBeLessThan(30);
  });

  it('delivers changes that arrive together as one batch per operation, in the order of arrival', async () => {
    const { feed, start, settled } = setUp();
    feed.put('a', podOf({ uid: 'a' }));
    start();
    await settled();
    feed.put('a', undefined);
    for (const uid of ['b', 'c', 'd']) feed.put(uid, podOf({ uid }));
    const changes = (await settled()).map(({ op, pods }) => [op, ...pods.map(({ metadata }) => metadata.uid)]);
    expect(changes).toEqual([
      ['REMOVE', 'a'],
      ['ADD', 'b', 'c', 'd'],
    ]);
  });

  it('K5: yields to the event loop after at most 24 pods of a long list if the validation of each pod takes half a millisecond', async () => {
    const clock = new FakeClock();
    const turns = new Map<number, number>();
    const feed = new FakeFeed();
    const lists: number[] = [];
    const changes: number[] = [];
    const set = Object.assign((pods: readonly Pod[]) => void lists.push(pods.length), {
      change: (batch: readonly unknown[]) => void changes.push(batch.length),
    });
    const put = (name: string): void => {
      const pod = podOf({ uid: name });
      feed.put(name, {
        metadata: pod.metadata,
        get spec() {
          return pod.spec;
        },
        // The check reads each field of an object; `status` is read last.
        get status() {
          clock.spend(0.5);
          turns.set(clock.firedTimers, (turns.get(clock.firedTimers) ?? 0) + 1);
          return undefined;
        },
      });
    };
    for (let index = 0; index < 1000; index++) put(`p${index}`);
    const end = new AbortController();
    void new ApiSource({ feed, set, clock }).start(end.signal);
    await clock.advance(1000);
    expect(lists).toEqual([1000]);
    for (let index = 0; index < 500; index++) put(`q${index}`);
    await clock.advance(1000);
    expect(changes).toEqual([500]);
    expect([...turns.values()].reduce((sum, pods) => sum + pods, 0)).toBe(1500);
    expect(Math.max(...turns.values())).toBeLessThanOrEqual(24);
    end.abort();
  });

  it('F1: the first list omits a pod that the API server deleted before the list was read', async () => {
    const clock = new FakeClock();
    const { feed, start, settled } = setUp(clock);
    for (let index = 0; index < 20; index++) feed.put(`p${index}`, podOf({ uid: `p${index}` }));
    const { waitForSync } = feed;
    feed.waitForSync = async () => {
      await waitForSync.call(feed);
      feed.put('p19', undefined);
    };
    start();
    const [first, ...rest] = told(await settled());
    expect(first).toHaveLength(20);
    expect(first).not.toContain('p19 busybox');
    expect(rest).toEqual([]);
  });
});

describe('apiPodProblem', () => {
  const { metadata, spec } = good;
  it.each<[unknown, string]>([
    [null, 'must be an object'],
    ['pod', 'must be an object'],
    [{ spec }, 'metadata.uid: Required value'],
    [{ metadata }, 'spec: Required value'],
    [{ metadata, spec: null }, 'spec: Required value'],
    [{ metadata, spec: {} }, 'spec.containers: Required value'],
    [{ metadata, spec: { containers: [] } }, 'spec.containers: Required value'],
    [{ metadata, spec: { containers: [null] } }, 'spec.containers[0]: Invalid value: null: must be an object'],
    [{ metadata, spec: { containers: [{ image: 'a' }] } }, 'spec.containers[0].name: Required value'],
    [{ metadata: { ...metadata, name: '../x' }, spec }, 'metadata.name: Invalid value: "../x": must be usable'],
    [{ metadata: { ...metadata, namespace: '..' }, spec }, 'metadata.namespace: Invalid value: "..": must be usable'],
    [{ metadata: { ...metadata, uid: 'a/b' }, spec }, 'metadata.uid: Invalid value: "a/b": must be usable'],
    [{ metadata: { ...metadata, uid: 'a\0' }, spec }, 'metadata.uid: Invalid value: "a\\u0000": must be usable'],
    [{ metadata: { ...metadata, labels: ['a'] }, spec }, 'metadata.labels: '],
    [{ metadata, spec: { containers: [{ name: '../../x' }] } }, 'spec.containers[0].name: Invalid value: "../../x"'],
    [{ metadata, spec: { ...spec, initContainers: [{ name: '/' }] } }, 'spec.initContainers[0].name: Invalid value'],
    [
      { metadata, spec: { ...spec, ephemeralContainers: [{ name: '..' }] } },
      'spec.ephemeralContainers[0].name: Invalid value',
    ],
    [{ metadata, spec: { ...spec, volumes: [{ name: '../v' }] } }, 'spec.volumes[0].name: Invalid value'],
    [{ metadata, spec, status: { containerStatuses: 5 } }, 'status.containerStatuses: '],
  ])('W3: refuses the API object %j as a pod', (object, problem) => {
    expect(apiPodProblem(object)).toContain(problem);
  });

  it.each<[unknown]>([
    [good],
    [{ ...good, apiVersion: 'v1', kind: 'Pod', later: {} }],
    [{ metadata, spec: { ...spec, terminationGracePeriodSeconds: 2 ** 63 } }],
    [{ metadata: { ...metadata, name: 'a..b', deletionTimestamp: null }, spec: { ...spec, laterField: 1 } }],
  ])('accepts the API object %j as a pod, including fields of a newer API server', (object) => {
    expect(apiPodProblem(object)).toBeUndefined();
  });
});

describe('an API object that is no valid pod', () => {
  const broken = { metadata: { name: 'broken', namespace: 'default', uid: 'b' } };
  const refusal =
    'default/broken Warning FailedValidation: Error validating pod broken_default(b) from api due to spec: Required value, ignoring';

  it('W3: ignores an invalid pod in the first list with an event and a log line, and delivers the valid pods', async () => {
    const { feed, start, settled, events, logged } = setUp();
    feed.put('default/broken', broken);
    feed.put('default/good', good);
    start();
    expect(told(await settled())).toEqual([['ADD', 'good busybox']]);
    expect(events).toEqual([refusal]);
    expect(logged).toEqual([
      { pod: 'default/broken', podUid: 'b', problem: 'spec: Required value', lastGoodVersionIsKept: false },
    ]);
  });

  it('W3: an invalid pod gets one event when it appears, none when it changes, and another one when it was deleted and reappears', async () => {
    const { feed, start, settled, events } = setUp();
    feed.put('default/good', good);
    start();
    await settled();
    feed.put('default/broken', broken);
    expect(await settled()).toEqual([]);
    feed.put('default/broken', { ...broken });
    feed.put('default/other', podOf({ uid: 'other' }));
    expect(told(await settled())).toEqual([['ADD', 'other busybox']]);
    expect(events).toEqual([refusal]);
    feed.put('default/broken', undefined);
    expect(await settled()).toEqual([]);
    feed.put('default/broken', broken);
    expect(await settled()).toEqual([]);
    expect(events).toEqual([refusal, refusal]);
  });

  it('W3: an invalid pod is added as soon as an update makes it valid', async () => {
    const { feed, start, settled } = setUp();
    feed.put('default/broken', broken);
    start();
    expect(told(await settled())).toEqual([['ADD']]);
    feed.put('default/broken', { ...broken, spec: good.spec });
    expect(told(await settled())).toEqual([['ADD', 'b busybox']]);
  });

  it('W3: a pod whose namespace is no valid path element gets its event in the namespace default', async () => {
    const { feed, start, settled, events } = setUp();
    start();
    await settled();
    feed.put('x', { ...good, metadata: { ...good.metadata, namespace: '../kube-system' } });
    expect(await settled()).toEqual([]);
    expect(events).toEqual([expect.stringMatching(/^default\/pod-good Warning .*"\.\.\/kube-system"/)]);
  });

  it('F2: a pod whose API object becomes invalid keeps its last valid version until the object is deleted', async () => {
    const { feed, start, settled, events, logged } = setUp();
    feed.put('default/good', good);
    start();
    await settled();
    feed.put('default/good', { metadata: good.metadata });
    expect(await settled()).toEqual([]);
    feed.put('default/good', podOf({ uid: 'good', image: 'other' }));
    expect(told(await settled())).toEqual([['UPDATE', 'good other']]);
    feed.put('default/good', { metadata: good.metadata, spec: { containers: [] } });
    expect(await settled()).toEqual([]);
    feed.put('default/good', undefined);
    expect(told(await settled())).toEqual([['REMOVE', 'good other']]);
    expect(events).toHaveLength(2);
    expect(events[0]).toContain('keeping its last good version');
    expect(logged).toEqual([
      expect.objectContaining({ problem: 'spec: Required value', lastGoodVersionIsKept: true }),
      expect.objectContaining({ problem: 'spec.containers: Required value', lastGoodVersionIsKept: true }),
    ]);
  });

  it('F2: a pod is removed if an invalid object with another UID takes its name', async () => {
    const { feed, start, settled, events } = setUp();
    feed.put('default/good', good);
    start();
    await settled();
    feed.put('default/good', { metadata: { ...good.metadata, uid: 'next' } });
    expect(told(await settled())).toEqual([['REMOVE', 'good busybox']]);
    expect(events).toEqual([expect.stringMatching(/pod-good_default\(next\).*, ignoring$/)]);
  });
});

describe('changes of single pods compared with changes of whole lists', () => {
  it('changes of single pods produce the same updates as whole lists, even if pods of other sources or names share their UIDs', async () => {
    const uid = fc.constantFrom('u1', 'u2', 'u3', 'u4');
    const version = fc.record({ uid, image: fc.constantFrom('x', 'y'), phase: fc.constantFrom('Running', 'Failed') });
    const step = fc.record({
      source: fc.constantFrom('api' as const, 'file' as const),
      name: fc.constantFrom('a', 'b', 'c'),
      pod: fc.option(version, { nil: undefined }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(step, { minLength: 1, maxLength: 3 }), { maxLength: 8 }), async (rounds) => {
        const byList = consumer();
        const byChange = consumer();
        for (const set of [byList.inputs, byChange.inputs])
          for (const source of ['api', 'file'] as const) set[source]([]);
        const pods = { api: new Map<string, Pod>(), file: new Map<string, Pod>() };
        for (const round of rounds) {
          for (const { source, name, pod } of round) {
            const known = pods[source].get(name);
            const next = pod && named(podOf(pod), name);
            if (next === undefined) pods[source].delete(name);
            else pods[source].set(name, next);
            byList.inputs[source]([...pods[source].values()]);
            if (next !== undefined) byChange.inputs[source].change([{ pod: next }]);
            else if (known !== undefined) byChange.inputs[source].change([{ pod: known, gone: true }]);
          }
          expect(await byChange.state()).toEqual(await byList.state());
        }
      }),
      { numRuns: 300 },
    );
  });
});

function named(pod: Pod, name: string): Pod {
  return { ...pod, metadata: { ...pod.metadata, name } };
}

/** Creates a consumer that applies updates to the pods that it knows, by UID. */
function consumer() {
  const clock = new FakeClock();
  const config = new PodConfig({ clock });
  const inputs = { api: config.addSource('api'), file: config.addSource('file') };
  const known = new Map<string, unknown>();
  void (async () => {
    for await (const { op, source, pods } of config.updates) {
      for (const pod of pods) {
        if (op === 'REMOVE') known.delete(pod.metadata.uid);
        else known.set(pod.metadata.uid, { source, name: pod.metadata.name, spec: pod.spec, status: pod.status });
      }
    }
  })();
  const state = async (): Promise<unknown> => {
    await clock.settle();
    return new Map([...known].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  };
  return { inputs, state };
}
