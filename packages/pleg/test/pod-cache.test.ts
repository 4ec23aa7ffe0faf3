import { FakeClock } from '@node-agent/async/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { PodCache } from '../src/index.ts';
import { toPod, toStatus, truth } from './kit.ts';

const state = truth({ c: 'running' });
let cache: PodCache;
let wanted: string[];
const clock = new FakeClock();

beforeEach(() => {
  cache = new PodCache();
  wanted = [];
  cache.onWait((uid) => wanted.push(uid));
});

/** Requests a status newer than the given time. `outcome` is `waits` until the request has been answered. */
function ask(uid: string, minTimeMs: number, signal?: AbortSignal): { outcome: unknown } {
  const asked: { outcome: unknown } = { outcome: 'waits' };
  cache.getNewerThan(uid, minTimeMs, signal).then(
    (status) => {
      asked.outcome = { containers: status.containers.length, observedAtMs: status.observedAtMs };
    },
    (error: unknown) => {
      asked.outcome = error;
    },
  );
  return asked;
}

describe('runningPods', () => {
  it('P4: runningPods returns the pods of a name with any running sandbox or container, from the list and later reads', () => {
    const running = (): unknown => cache.runningPods('name-p', 'default');
    expect(running()).toBeUndefined();
    cache.list([{ ...toPod('p', state), name: 'name-p', namespace: 'default' }]);
    expect(running()).toEqual(['p']);
    expect(cache.runningPods('name-q', 'default')).toEqual([]);
    cache.setError('p', new Error('unreadable'), 5);
    expect(running()).toEqual(['p']);
    cache.set('p', toStatus('p', truth({ c: 'exited' }, { s: 'ready' }), 10), 10);
    expect(running()).toEqual(['p']);
    cache.set('p', toStatus('p', truth({ c: 'exited' }, { s: 'notReady' }), 20), 20);
    expect(running()).toEqual([]);
    cache.list([{ ...toPod('p', state), name: 'name-p', namespace: 'default' }]);
    cache.delete('p', 30);
    expect(running()).toEqual([]);
  });
});

describe('uids', () => {
  it('uids returns the pods that were read, until the runtime no longer has them', () => {
    cache.list([toPod('listed', state)]);
    cache.set('p', toStatus('p', state, 10), 10);
    cache.setError('q', new Error('unreadable'), 10);
    expect([...cache.uids()]).toEqual(['p', 'q']);
    cache.delete('p', 20);
    expect([...cache.uids()]).toEqual(['q']);
  });
});

describe('getNewerThan', () => {
  it.each([
    ['resolves immediately for a pod that was read later', 9, { containers: 1, observedAtMs: 10 }],
    ['waits for a pod that was read at that time', 10, 'waits'],
    ['waits for a pod that was read before', 11, 'waits'],
  ])('getNewerThan %s', async (_name, minTimeMs, outcome) => {
    cache.set('p', toStatus('p', state, 10), 10);
    const asked = ask('p', minTimeMs);
    await clock.settle();
    expect(asked.outcome).toEqual(outcome);
    expect(wanted).toEqual(outcome === 'waits' ? ['p'] : []);
  });

  it('getNewerThan resolves with a read that is new enough, not with an older one', async () => {
    const early = ask('p', 10);
    const late = ask('p', 20);
    expect(cache.newestAsked('p')).toBe(20);
    cache.set('p', toStatus('p', state, 15), 15);
    await clock.settle();
    expect([early.outcome, late.outcome]).toEqual([{ containers: 1, observedAtMs: 15 }, 'waits']);
    cache.set('p', toStatus('p', state, 21), 21);
    await clock.settle();
    expect(late.outcome).toEqual({ containers: 1, observedAtMs: 21 });
    expect([cache.waiting, cache.newestAsked('p')]).toEqual([0, undefined]);
  });

  it("getNewerThan resolves with a list that confirms the known status, with the list's time", async () => {
    cache.set('p', toStatus('p', state, 5), 5);
    const asked = ask('p', 10);
    const unknown = ask('nobody', 10);
    cache.updateTime(10, new Set());
    await clock.settle();
    expect([asked.outcome, unknown.outcome]).toEqual(['waits', 'waits']);
    expect(wanted).toEqual(['p', 'nobody', 'p', 'nobody']);
    cache.updateTime(11, new Set());
    await clock.settle();
    expect(asked.outcome).toEqual({ containers: 1, observedAtMs: 11 });
    expect(unknown.outcome).toEqual({ containers: 0, observedAtMs: 11 });
  });

  it('getNewerThan does not resolve with a list for a changed pod until the pod was read', async () => {
    cache.set('p', toStatus('p', state, 5), 5);
    const asked = ask('p', 10);
    const fresh = ask('new', 10);
    cache.updateTime(20, new Set(['p', 'new']));
    await clock.settle();
    expect([asked.outcome, fresh.outcome]).toEqual(['waits', 'waits']);
    expect([cache.hasSeen('p'), cache.hasSeen('new'), cache.hasSeen('other')]).toEqual([true, false, true]);
    cache.settle('p');
    cache.set('new', toStatus('new', state, 21), 21);
    await clock.settle();
    expect(asked.outcome).toEqual({ containers: 1, observedAtMs: 20 });
    expect(fresh.outcome).toEqual({ containers: 1, observedAtMs: 21 });
  });

  it('getNewerThan throws the error of a read that failed during the wait', async () => {
    const error = new Error('no runtime');
    const asked = ask('p', 10);
    cache.setError('p', error, 11);
    await clock.settle();
    expect(asked.outcome).toBe(error);
  });

  it('getNewerThan requests another read instead of throwing the error of an earlier read', async () => {
    cache.setError('p', new Error('no runtime'), 11);
    const asked = ask('p', 1);
    cache.updateTime(12, new Set(['p']));
    cache.settle('p');
    await clock.settle();
    expect(asked.outcome).toBe('waits');
    expect(wanted).toEqual(['p']);
    cache.set('p', toStatus('p', state, 13), 13);
    await clock.settle();
    expect(asked.outcome).toEqual({ containers: 1, observedAtMs: 13 });
  });

  it('getNewerThan rejects when its signal is aborted, and leaves no waiter behind', async () => {
    const abort = new AbortController();
    const asked = ask('p', 10, abort.signal);
    expect(cache.waiting).toBe(1);
    abort.abort(new Error('enough'));
    await clock.settle();
    expect(asked.outcome).toEqual(new Error('enough'));
    expect(cache.waiting).toBe(0);
    await expect(cache.getNewerThan('p', 10, abort.signal)).rejects.toThrow('enough');
    expect(cache.waiting).toBe(0);
  });

  it('onWait calls a new callback for all callers that already wait', () => {
    cache.onWait(undefined);
    ask('p', 10);
    cache.onWait((uid) => wanted.push(uid));
    expect(wanted).toEqual(['p']);
  });
});

describe('cache content', () => {
  it('a read that began earlier never replaces the status of a newer read in the cache', () => {
    cache.set('p', toStatus('p', state, 10), 10);
    cache.set('p', toStatus('p', truth({}), 9), 9);
    cache.setError('p', new Error('x'), 9);
    cache.delete('p', 9);
    expect(cache.get('p')).toMatchObject({ observedAtMs: 10, status: { containers: [{ id: 'c' }] } });
    expect(cache.get('p')?.error).toBeUndefined();
  });

  it('a failed read keeps the last status in the cache', () => {
    cache.set('p', toStatus('p', state, 10), 10);
    cache.setError('p', new Error('x'), 11);
    expect(cache.get('p')).toMatchObject({ error: new Error('x'), status: { containers: [{ id: 'c' }] } });
  });

  it('K4: a removed pod leaves nothing in the cache', async () => {
    const asked = ask('p', 5);
    cache.set('p', toStatus('p', state, 5), 5);
    cache.delete('p', 6);
    await clock.settle();
    expect(asked.outcome).toEqual({ containers: 0, observedAtMs: 6 });
    expect(cache.get('p')).toBeUndefined();
    expect([cache.hasSeen('p'), cache.waiting]).toEqual([false, 0]);
  });
});
