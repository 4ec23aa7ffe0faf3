import { FakeClock } from '@node-agent/async/testing';
import { CONFIG_SOURCE_ANNOTATION, type Pod, type PodSource } from '@node-agent/pod-spec';
import { silentLogger } from '@node-agent/telemetry';
import { describe, expect, it } from 'vitest';
import { PodConfigError } from '../src/errors.ts';
import { PodConfig, type PodConfigMode } from '../src/pod-config.ts';
import type { PodUpdate } from '../src/pod-update.ts';
import { podOf } from './helpers.ts';

function setUp(mode?: PodConfigMode) {
  const clock = new FakeClock();
  const events: string[] = [];
  const recorder = {
    event: (_o: unknown, _t: unknown, reason: string, message: string) => events.push(`${reason}: ${message}`),
  };
  const config = new PodConfig({ clock, logger: silentLogger, recorder }, mode === undefined ? {} : { mode });
  const seen: PodUpdate[] = [];
  /** Lets the consumer receive all pending updates. */
  const drain = async (): Promise<string[]> => {
    await clock.settle();
    return seen
      .splice(0)
      .map(({ op, source, pods }) => [op, source, ...pods.map(({ metadata }) => metadata.uid)].join(' '));
  };
  const consume = async (): Promise<void> => {
    for await (const update of config.updates) seen.push(update);
  };
  return { config, drain, consume, events, clock, seen };
}

describe('PodConfig', () => {
  it('delivers the changes of a list in the order REMOVE, ADD, UPDATE, DELETE, RECONCILE', async () => {
    const { config, drain, consume } = setUp();
    const set = config.addSource('api');
    void consume();
    set([
      podOf({ uid: 'gone' }),
      podOf({ uid: 'same' }),
      podOf({ uid: 'edit' }),
      podOf({ uid: 'del' }),
      podOf({ uid: 'stat' }),
    ]);
    expect(await drain()).toEqual(['ADD api gone same edit del stat']);
    set([
      podOf({ uid: 'stat', phase: 'Failed' }),
      podOf({ uid: 'del', deletionTimestamp: '2026-01-01T00:00:00Z' }),
      podOf({ uid: 'edit', image: 'other' }),
      podOf({ uid: 'same' }),
      podOf({ uid: 'new' }),
    ]);
    expect(await drain()).toEqual([
      'REMOVE api gone',
      'ADD api new',
      'UPDATE api edit',
      'DELETE api del',
      'RECONCILE api stat',
    ]);
  });

  it('F2: changes that arrive while a long list is compared are kept, also when all pods are compared again', async () => {
    const clock = new FakeClock();
    let spentMs = 0;
    const slow = {
      now: () => clock.now(),
      monotonic: () => {
        spentMs += 20;
        return clock.monotonic() + spentMs;
      },
      setTimer: (delayMs: number, callback: () => void) => clock.setTimer(delayMs, callback),
    };
    const config = new PodConfig({ clock: slow, logger: silentLogger });
    const seen: string[] = [];
    void (async () => {
      for await (const { op, pods } of config.updates) seen.push(`${op} ${pods.map(({ metadata }) => metadata.uid)}`);
    })();
    const set = config.addSource('api');
    const list = Array.from({ length: 20 }, (_, index) => podOf({ uid: `${index}` }));
    set(list);
    await clock.settle();
    expect(seen).toEqual([]);
    set.change([{ pod: podOf({ uid: 'new' }) }, { pod: podOf({ uid: '19' }), gone: true }]);
    while (seen.length < 3) await clock.advance(0);
    expect(seen).toEqual([`ADD ${list.map(({ metadata }) => metadata.uid)}`, 'REMOVE 19', 'ADD new']);
    // So many changes that all pods are compared.
    const many = Array.from({ length: 101 }, (_, index) => ({ pod: podOf({ uid: `late-${index}` }) }));
    set.change(many);
    while (seen.length < 4) await clock.advance(0);
    expect(seen.slice(3)).toEqual([`ADD ${many.map(({ pod }) => pod.metadata.uid)}`]);
    config.close();
  });

  it('F2: a pod stays that has the name of a pod which another source holds, when the list is compared again', async () => {
    const clock = new FakeClock();
    const config = new PodConfig({ clock, logger: silentLogger });
    const seen: string[] = [];
    void (async () => {
      for await (const { op, source, pods } of config.updates)
        seen.push(`${source} ${op} ${pods.map(({ metadata }) => metadata.uid)}`);
    })();
    const http = config.addSource('http');
    const file = config.addSource('file');
    http([podOf({ uid: '1', name: 'a' }), podOf({ uid: '3', name: 'c' })]);
    await clock.settle();
    file([podOf({ uid: '1', name: 'x' }), podOf({ uid: '2', name: 'x' }), podOf({ uid: '3', name: 'c' })]);
    await clock.settle();
    expect(seen).toEqual(['http ADD 1,3', 'file ADD 2']);
    http([podOf({ uid: '1', name: 'a' })]);
    await clock.settle();
    expect(seen.slice(2)).toEqual(['http REMOVE 3', 'file ADD 3']);
    config.close();
  });

  it('annotates each pod with its source', async () => {
    const { config, consume, seen, clock } = setUp();
    config.addSource('http')([podOf()]);
    void consume();
    await clock.settle();
    expect(seen[0]?.pods[0]?.metadata.annotations?.[CONFIG_SOURCE_ANNOTATION]).toBe('http');
  });

  it('delivers one empty ADD when a source without pods reports its first list', async () => {
    const { config, drain, consume } = setUp();
    const set = config.addSource('file');
    void consume();
    set([]);
    expect(await drain()).toEqual(['ADD file']);
    set([]);
    expect(await drain()).toEqual([]);
  });

  it('F1: seenAllSources is true once each source has reported and the consumer has handled its first update', async () => {
    const { config, clock } = setUp();
    const file = config.addSource('file');
    const http = config.addSource('http');
    const updates = config.updates[Symbol.asyncIterator]();
    file([podOf({ uid: 'a' })]);
    http([podOf({ uid: 'b' })]);
    expect(config.seenAllSources()).toBe(false);
    await updates.next();
    expect(config.sourceReady('file')).toBe(false);
    await updates.next();
    expect([config.sourceReady('file'), config.sourceReady('http'), config.seenAllSources()]).toEqual([
      true,
      false,
      false,
    ]);
    const seen: string[] = [];
    void config.allSourcesSeen().then(() => seen.push('all'));
    const stop = new AbortController();
    const given = config.allSourcesSeen(stop.signal);
    stop.abort(new Error('no longer of interest'));
    await expect(given).rejects.toThrow('no longer of interest');
    expect(seen).toEqual([]);
    void updates.next();
    await clock.settle();
    expect(config.seenAllSources()).toBe(true);
    expect(seen).toEqual(['all']);
    await config.allSourcesSeen();
  });

  it('seenAllSources is true if no source was added', async () => {
    const { config } = setUp();
    expect(config.seenAllSources()).toBe(true);
    await config.allSourcesSeen();
  });

  it('a slow consumer gets only the newest state of a pod, and no older updates are queued', async () => {
    const { config, drain, consume } = setUp();
    const set = config.addSource('api');
    for (let i = 0; i < 1000; i++) set([podOf({ uid: 'a', image: `v${i}` })]);
    void consume();
    expect(await drain()).toEqual(['ADD api a']);
  });

  it('F2: a pod of another source with the same UID is ignored until the first source removes its pod', async () => {
    const { config, drain, consume, events } = setUp();
    const file = config.addSource('file');
    const http = config.addSource('http');
    void consume();
    file([podOf({ uid: 'x' })]);
    await drain();
    http([podOf({ uid: 'x', name: 'other' }), podOf({ uid: 'y' })]);
    expect(await drain()).toEqual(['ADD http y']);
    expect(events).toEqual([
      'FailedValidation: Error validating pod other_default(x) from http due to duplicate pod uid "x" of source file, ignoring',
    ]);
    file([]);
    expect(await drain()).toEqual(['REMOVE file x', 'ADD http x']);
  });

  it('F2: a list of one source does not affect the pods of another source', async () => {
    const { config, drain, consume } = setUp();
    const sets = new Map((['file', 'http'] as PodSource[]).map((name) => [name, config.addSource(name)]));
    void consume();
    sets.get('file')?.([podOf({ uid: 'a' })]);
    sets.get('http')?.([podOf({ uid: 'b' })]);
    await drain();
    sets.get('http')?.([]);
    expect(await drain()).toEqual(['REMOVE http b']);
  });

  it('reports a duplicate pod when it appears and not with each list', async () => {
    const { config, drain, consume, events } = setUp();
    const set = config.addSource('api');
    void consume();
    const twins = (image: string): Pod[] => [podOf({ uid: 'a', name: 'web', image }), podOf({ uid: 'b', name: 'web' })];
    for (const image of ['1', '2', '3']) {
      set(twins(image));
      await drain();
    }
    expect(events).toEqual([
      'FailedValidation: Error validating pod web_default(b) from api due to duplicate pod name "web", ignoring',
    ]);
    set([podOf({ uid: 'a', name: 'web' })]);
    await drain();
    set(twins('4'));
    await drain();
    expect(events).toHaveLength(2);
  });

  it('addSource returns the same setter for the same source', () => {
    const { config } = setUp();
    expect(config.addSource('file')).toBe(config.addSource('file'));
  });

  it('close ends the stream of updates', async () => {
    const { config, consume } = setUp();
    const ended = consume();
    config.addSource('file');
    config.close();
    await expect(ended).resolves.toBeUndefined();
  });

  it('in mode snapshot, delivers the pods of all sources whenever pods or specs change, but not for status changes', async () => {
    const { config, drain, consume } = setUp('snapshot');
    const file = config.addSource('file');
    const http = config.addSource('http');
    void consume();
    file([podOf({ uid: 'a' })]);
    http([podOf({ uid: 'b' })]);
    expect(await drain()).toEqual(['SET file a', 'SET http a b']);
    file([podOf({ uid: 'a', phase: 'Running' })]);
    expect(await drain()).toEqual([]);
    file([]);
    expect(await drain()).toEqual(['SET file b']);
  });

  it('in mode snapshotAndUpdates, delivers a snapshot when pods are added or removed, and otherwise an update', async () => {
    const { config, drain, consume } = setUp('snapshotAndUpdates');
    const set = config.addSource('file');
    void consume();
    set([podOf({ uid: 'a' })]);
    expect(await drain()).toEqual(['SET file a']);
    set([podOf({ uid: 'a', image: 'other' })]);
    expect(await drain()).toEqual(['UPDATE file a']);
  });
});

describe('PodConfig with a long list', () => {
  it('K5: compares 1,000 pods in portions of at most 24 if each of them takes half a millisecond', async () => {
    const clock = new FakeClock();
    const perTurn = new Map<number, number>();
    const config = new PodConfig({ clock });
    const set = config.addSource('api');
    const pods = Array.from({ length: 1000 }, (_, index): Pod => {
      const { spec, ...pod } = podOf({ uid: `${index}` });
      return {
        ...pod,
        // The field is read when the pod is added.
        get spec() {
          clock.spend(0.5);
          perTurn.set(clock.firedTimers, (perTurn.get(clock.firedTimers) ?? 0) + 1);
          return spec;
        },
      };
    });
    set(pods);
    let added = 0;
    void (async () => {
      for await (const update of config.updates) added += update.pods.length;
    })();
    await clock.settle();
    expect(added).toBe(0);
    await clock.advance(1000);
    expect(added).toBe(1000);
    expect(Math.max(...perTurn.values())).toBeLessThanOrEqual(24);
  });
});

describe('a closed PodConfig and invalid input to PodConfig', () => {
  it('rejects current and later waits for sources after close', async () => {
    const { config } = setUp();
    config.addSource('file');
    const waiting = config.allSourcesSeen();
    config.close();
    await expect(waiting).rejects.toMatchObject({ name: 'PodConfigError', code: 'Closed' });
    await expect(config.allSourcesSeen()).rejects.toMatchObject({ code: 'Closed' });
  });

  it.each([[[null]], [[{}]], [[{ metadata: {} }]], [null], [undefined], ['x']])(
    'throws an error for the pod list %j and accepts later lists',
    async (nonsense) => {
      const { config, drain, consume } = setUp();
      const set = config.addSource('file');
      void consume();
      expect(() => set(nonsense as never)).toThrow(expect.toSatisfy(PodConfigError.is));
      expect(await drain()).toEqual([]);
      set([podOf({ uid: 'a' })]);
      expect(await drain()).toEqual(['ADD file a']);
    },
  );
});
