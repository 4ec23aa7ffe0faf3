import { setImmediate } from 'node:timers/promises';
import { CoalescingQueue } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import type { Pod } from '@node-agent/pod-spec';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ApiSource, type PodFeedChange } from '../src/api-source.ts';
import { PodConfig } from '../src/pod-config.ts';
import type { PodUpdate } from '../src/pod-update.ts';
import { podOf } from './helpers.ts';

/** A feed that a test fills. */
class FakeFeed {
  readonly objects = new Map<string, Pod>();
  readonly #queue = new CoalescingQueue<string, PodFeedChange>();

  put(name: string, pod: Pod | undefined): void {
    const known = this.objects.get(name);
    if (pod === undefined) {
      if (known !== undefined) this.#queue.push(name, { type: 'deleted', object: known });
      this.objects.delete(name);
    } else {
      this.objects.set(name, pod);
      this.#queue.push(name, { type: 'changed', object: pod });
    }
  }

  async waitForSync(): Promise<void> {}

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
  const source = new ApiSource({ feed, set: config.addSource('api') });
  const end = new AbortController();
  const updates: PodUpdate[] = [];
  const start = (): void => {
    void source.start(end.signal);
    void (async () => {
      for await (const update of config.updates) updates.push(update);
    })();
  };
  /** @returns the updates since the last call */
  const settled = async (): Promise<readonly PodUpdate[]> => {
    await setImmediate();
    await clock.advance(1);
    return updates.splice(0);
  };
  return { config, feed, start, settled, end };
}

/** A pod that counts how often it is looked at. */
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
  it('looks at the changed pod alone when one of 1,000 pods has changed', async () => {
    const { feed, start, settled } = setUp();
    const counts = { looks: 0 };
    for (let index = 0; index < 1000; index++) feed.put(`p${index}`, countedPod(`p${index}`, counts));
    start();
    expect((await settled()).map(({ op, pods }) => [op, pods.length])).toEqual([['ADD', 1000]]);
    counts.looks = 0;
    feed.put('p500', { ...countedPod('p500', counts, '2'), status: { phase: 'Failed' } });
    expect((await settled()).map(({ op, pods }) => [op, pods.map(({ metadata }) => metadata.uid)])).toEqual([
      ['RECONCILE', ['p500']],
    ]);
    expect(counts.looks).toBeLessThan(30);
  });

  it('looks at each pod of the first list a few times, however many there are', async () => {
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

  it('gives changes that came together in one update, in the order in which they came', async () => {
    const { feed, start, settled } = setUp();
    feed.put('a', podOf({ uid: 'a' }));
    start();
    await settled();
    feed.put('a', undefined);
    for (const uid of ['b', 'c', 'd']) feed.put(uid, podOf({ uid }));
    const told = (await settled()).map(({ op, pods }) => [op, ...pods.map(({ metadata }) => metadata.uid)]);
    expect(told).toEqual([
      ['REMOVE', 'a'],
      ['ADD', 'b', 'c', 'd'],
    ]);
  });
});

describe('changes of single pods', () => {
  it('come to the same updates as whole lists do, with UIDs that are used twice or belong to another source too', async () => {
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

/** The pods that a consumer knows of, by UID. */
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
