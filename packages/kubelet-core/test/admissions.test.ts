import { FakeClock } from '@node-agent/async/testing';
import type { Pod } from '@node-agent/pod-spec';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Admissions } from '../src/admit/admissions.ts';
import type { AdmitHandler, AdmitResult } from '../src/admit/admit-handler.ts';
import { makePod } from './fakes.ts';

const { signal } = new AbortController();
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Returns an admit handler whose `admit` resolves when the test calls `answer` with the pod's name and the result. */
function slowHandler() {
  const asked: { readonly name: string; readonly others: string[]; readonly signal: AbortSignal }[] = [];
  const answers = new Map<string, (result: AdmitResult) => void>();
  const released: string[] = [];
  const handler: AdmitHandler = {
    admit: ({ metadata: { name } }, others, stop) => {
      asked.push({ name, others: others.map((pod) => pod.metadata.name), signal: stop });
      return new Promise((resolve) => answers.set(name, resolve));
    },
    release: ({ metadata: { name } }) => void released.push(name),
  };
  const answer = async (name: string, result: AdmitResult): Promise<void> => {
    answers.get(name)?.(result);
    await settled();
  };
  return { handler, asked, released, answer };
}

/** Returns an admit handler that admits a pod if fewer than `places` pods are active. */
const roomFor = (places: number): AdmitHandler => ({
  admit: (_pod, others) => (others.length < places ? { admit: true } : full),
});
const full: AdmitResult = { admit: false, reason: 'OutOfpods', message: 'full' };

function setUp(handlers: readonly AdmitHandler[]) {
  const clock = new FakeClock();
  const active: Pod[] = [];
  const told: string[] = [];
  const admissions = new Admissions({
    clock,
    handlers,
    activePods: () => [...active],
    results: {
      admitted(pod) {
        active.push(pod);
        told.push(`${pod.metadata.name} admitted`);
      },
      rejected: (pod, { reason }) => void told.push(`${pod.metadata.name} ${reason}`),
    },
  });
  return { admissions, active, told, clock };
}

describe('pods in admission', () => {
  test('decides the admission of a pod synchronously if no handler waits', () => {
    const { admissions, told } = setUp([roomFor(1)]);
    for (const name of ['a', 'b']) admissions.admit([makePod(name)], signal);
    expect(told).toEqual(['a admitted', 'b OutOfpods']);
    expect(admissions.isUndecided('uid-b')).toBe(false);
  });

  test('confirms an admission to all handlers before the next pod is evaluated', async () => {
    const calls: string[] = [];
    const { handler, answer } = slowHandler();
    const first: AdmitHandler = {
      admit: () => ({ admit: true }),
      admitted: ({ metadata: { name } }) => void calls.push(`${name} admitted`),
      release: ({ metadata: { name } }) => void calls.push(`${name} released`),
    };
    const { admissions, told } = setUp([first, handler]);
    for (const name of ['a', 'b']) admissions.admit([makePod(name)], signal);
    expect(calls).toEqual([]);
    await answer('a', { admit: true });
    expect([calls, told]).toEqual([['a admitted'], ['a admitted']]);
    await answer('b', full);
    await answer('b', full);
    expect(calls.filter((call) => call === 'b admitted')).toEqual([]);
    expect(calls).toContain('b released');
  });

  test('C7: a slow admission of an older pod does not delay a younger pod if both pods fit together', async () => {
    const onlySlow: AdmitHandler = {
      admit: (pod, others, stop) => (pod.metadata.name === 'slow' ? handler.admit(pod, others, stop) : { admit: true }),
    };
    const { handler, answer } = slowHandler();
    const { admissions, told } = setUp([onlySlow, roomFor(2)]);
    for (const name of ['slow', 'b']) admissions.admit([makePod(name)], signal);
    expect(told).toEqual(['b admitted']);
    expect(admissions.isUndecided('uid-slow')).toBe(true);
    await answer('slow', { admit: true });
    expect(told).toEqual(['b admitted', 'slow admitted']);
  });

  test("N1: a pod that fits only without an older pod waits until the older pod's admission is decided", async () => {
    for (const [result, expected] of [
      [{ admit: true }, ['slow admitted', 'b OutOfpods']],
      [{ admit: false, reason: 'NoDevice', message: '' }, ['slow NoDevice', 'b admitted']],
    ] as const) {
      const { handler, answer } = slowHandler();
      const onlySlow: AdmitHandler = {
        admit: (pod, others, stop) =>
          pod.metadata.name === 'slow' ? handler.admit(pod, others, stop) : { admit: true },
      };
      const { admissions, told } = setUp([onlySlow, roomFor(1)]);
      for (const name of ['slow', 'b']) admissions.admit([makePod(name)], signal);
      expect(told).toEqual([]);
      await answer('slow', result);
      expect(told).toEqual(expected);
    }
  });

  test('rejects a pod that would not fit even alone, without waiting for older pods', () => {
    const { handler } = slowHandler();
    const refuses: AdmitHandler = {
      admit: (pod, others, stop) => (pod.metadata.name === 'bad' ? full : handler.admit(pod, others, stop)),
    };
    const { admissions, told } = setUp([refuses]);
    for (const name of ['slow', 'bad']) admissions.admit([makePod(name)], signal);
    expect(told).toEqual(['bad OutOfpods']);
  });

  test('a rejected pod releases the reservations of the handlers that accepted it', async () => {
    const { handler, answer, released } = slowHandler();
    const { admissions, told } = setUp([handler, roomFor(0)]);
    admissions.admit([makePod('a')], signal);
    await answer('a', { admit: true });
    expect(told).toEqual(['a OutOfpods']);
    expect(released).toEqual(['a']);
  });

  test('a pod is rejected if a handler throws or its promise rejects', async () => {
    const throws: AdmitHandler = {
      admit: ({ metadata: { name } }) => {
        if (name === 'a') throw new Error('broken');
        return Promise.reject(new Error('broken'));
      },
    };
    const { admissions, told } = setUp([throws]);
    for (const name of ['a', 'b']) admissions.admit([makePod(name)], signal);
    await settled();
    expect(told).toEqual(['a UnexpectedAdmissionError', 'b UnexpectedAdmissionError']);
  });
});

/**
 * Returns an admit handler with room for two pods. `critical` pods preempt others; the preemption ends when the test
 * calls `ended`.
 */
function withRecovery() {
  const begun: string[] = [];
  let end: (() => void) | undefined;
  const room: AdmitHandler = {
    admit: (pod, others) => {
      if (others.length < 2) return { admit: true };
      if (!pod.metadata.name.startsWith('critical')) return full;
      const recover = (): Promise<AdmitResult> => {
        begun.push(pod.metadata.name);
        return new Promise((resolve) => {
          end = () => resolve({ admit: true });
        });
      };
      return { ...full, recover };
    },
  };
  return { room, begun, ended: () => end?.() };
}

describe('pod with preemption', () => {
  test('N1: a pod is admitted when the pods that it preempted have terminated; until then, only pods that do not fit together with it wait', async () => {
    const { room, begun, ended } = withRecovery();
    const free: AdmitHandler = {
      admit: (pod, others) => (pod.metadata.name === 'fits' ? { admit: true } : room.admit(pod, others, signal)),
    };
    const { admissions, active, told } = setUp([free]);
    active.push(makePod('x'), makePod('y'));
    for (const name of ['critical', 'plain', 'fits']) admissions.admit([makePod(name)], signal);
    expect(begun).toEqual(['critical']);
    expect(told).toEqual(['fits admitted']);
    active.splice(0, 2);
    ended();
    await settled();
    expect(told).toEqual(['fits admitted', 'critical admitted', 'plain OutOfpods']);
  });

  test('a pod preempts others only once, after the admission of all older pods is decided', async () => {
    const { room, begun, ended } = withRecovery();
    const { handler, answer } = slowHandler();
    const slow: AdmitHandler = {
      admit: (pod, others, stop) => (pod.metadata.name === 'slow' ? handler.admit(pod, others, stop) : { admit: true }),
    };
    const { admissions, active, told } = setUp([room, slow]);
    active.push(makePod('x'));
    for (const name of ['slow', 'critical-a', 'critical-b']) admissions.admit([makePod(name)], signal);
    expect(begun).toEqual([]);
    await answer('slow', { admit: false, reason: 'NoDevice', message: '' });
    // The rejection of `slow` leaves room for `critical-a`, which is therefore admitted without preemption.
    expect(told).toEqual(['slow NoDevice', 'critical-a admitted']);
    expect(begun).toEqual(['critical-b']);
    ended();
    await settled();
    expect(told.at(-1)).toBe('critical-b admitted');
    expect(begun).toEqual(['critical-b']);
  });

  test('a pod that may preempt others is not rejected while the admission of an older pod is slow', async () => {
    const { room, begun, ended } = withRecovery();
    const { handler, answer } = slowHandler();
    const either: AdmitHandler = {
      admit: (pod, others, stop) => (pod.metadata.name === 'slow' ? handler : room).admit(pod, others, stop),
    };
    const { admissions, active, told } = setUp([either]);
    active.push(makePod('x'), makePod('y'));
    for (const name of ['slow', 'critical']) admissions.admit([makePod(name)], signal);
    expect([begun, told]).toEqual([[], []]);
    await answer('slow', { admit: false, reason: 'NoDevice', message: '' });
    expect(begun).toEqual(['critical']);
    ended();
    await settled();
    expect(told).toEqual(['slow NoDevice', 'critical admitted']);
  });

  test('a pod that is removed while its preemption is in progress is not admitted, and the next pod is evaluated', async () => {
    const { room, ended } = withRecovery();
    const { admissions, active, told } = setUp([room]);
    active.push(makePod('x'), makePod('y'));
    for (const name of ['critical', 'plain']) admissions.admit([makePod(name)], signal);
    admissions.withdraw('uid-critical');
    ended();
    await settled();
    expect(told).toEqual(['plain OutOfpods']);
  });

  test('a pod is rejected and its reservations are released if the preemption of other pods fails', async () => {
    const broken: AdmitHandler = {
      admit: () => ({ ...full, recover: () => Promise.reject(new Error('nobody ends')) }),
    };
    const released: string[] = [];
    const first: AdmitHandler = {
      admit: () => ({ admit: true }),
      release: ({ metadata }) => void released.push(metadata.name),
    };
    const { admissions, told } = setUp([first, broken]);
    admissions.admit([makePod('a')], signal);
    await settled();
    expect(told).toEqual(['a UnexpectedAdmissionError']);
    expect(released).toEqual(['a']);
  });
});

describe('pod that is withdrawn from admission', () => {
  test('withdrawing a pod from admission aborts its admit handler, and releases the reservations if the handler admits the pod later', async () => {
    const { handler, answer, asked, released } = slowHandler();
    const { admissions, told } = setUp([handler, roomFor(9)]);
    admissions.admit([makePod('a')], signal);
    expect(admissions.withdraw('uid-a')).toBe(true);
    expect(asked[0]?.signal.aborted).toBe(true);
    await answer('a', { admit: true });
    expect(told).toEqual([]);
    expect(released).toEqual(['a']);
    expect(admissions.withdraw('uid-a')).toBe(false);
  });

  test('withdrawing a pod from admission lets the pods that waited for it continue', () => {
    const { handler } = slowHandler();
    const onlySlow: AdmitHandler = {
      admit: (pod, others, stop) => (pod.metadata.name === 'slow' ? handler.admit(pod, others, stop) : { admit: true }),
    };
    const { admissions, told } = setUp([onlySlow, roomFor(1)]);
    for (const name of ['slow', 'b', 'c']) admissions.admit([makePod(name)], signal);
    admissions.withdraw('uid-slow');
    expect(told).toEqual(['b admitted', 'c OutOfpods']);
  });

  test('C7: a pod that is evaluated while the older pod in its way is rejected does not wait for another slow pod', async () => {
    const { handler, answer } = slowHandler();
    const { admissions, told } = setUp([handler, roomFor(2)]);
    for (const name of ['first', 'hanging', 'young']) admissions.admit([makePod(name)], signal);
    // If both older pods were admitted, there would be no room for `young`.
    await answer('young', { admit: true });
    await answer('first', { admit: false, reason: 'NoDevice', message: '' });
    // `young` fits alone, and then also beside `hanging`.
    await answer('young', { admit: true });
    await answer('young', { admit: true });
    expect(told).toEqual(['first NoDevice', 'young admitted']);
  });

  test.each([
    ['N1: counts a pod that was resumed while an earlier handler took long', [], ['x'], 'a OutOfpods'],
    ['does not count a pod that ended while an earlier handler took long', ['x'], [], 'a admitted'],
  ])('%s', async (_name, before, after, expected) => {
    const { handler, answer } = slowHandler();
    const { admissions, active, told } = setUp([handler, roomFor(1)]);
    active.push(...before.map((name) => makePod(name)));
    admissions.admit([makePod('a')], signal);
    active.splice(0, active.length, ...after.map((name) => makePod(name)));
    await answer('a', { admit: true });
    expect(told).toEqual([expected]);
  });

  test('lists the active pods once for all handlers that do not wait', () => {
    let lists = 0;
    const admissions = new Admissions({
      clock: new FakeClock(),
      handlers: Array.from({ length: 10 }, () => roomFor(1)),
      activePods() {
        lists += 1;
        return [];
      },
      results: { admitted() {}, rejected() {} },
    });
    admissions.admit([makePod('a')], signal);
    expect(lists).toBe(1);
  });

  test('N12: a pod that comes back under its UID is evaluated when the evaluation of the withdrawn pod has ended', async () => {
    const { handler, answer, asked, released } = slowHandler();
    const { admissions, told } = setUp([handler]);
    admissions.admit([makePod('a')], signal);
    admissions.withdraw('uid-a');
    admissions.admit([makePod('a')], signal);
    admissions.admit([makePod('b')], signal);
    expect(asked.map(({ name }) => name)).toEqual(['a', 'b']);
    await answer('a', { admit: true });
    expect([asked.map(({ name }) => name), released]).toEqual([['a', 'b', 'a'], ['a']]);
    await answer('a', { admit: true });
    expect(told).toEqual(['a admitted']);
  });

  test('F4: a pod no longer waits for the decision about an older pod after ten seconds, and the older pod is evaluated again', async () => {
    const { handler, answer, released } = slowHandler();
    const only: AdmitHandler = {
      admit: (pod, others, stop) => (pod.metadata.name === 'old' ? handler.admit(pod, others, stop) : { admit: true }),
      release: (pod) => handler.release?.(pod),
    };
    const { admissions, told, clock } = setUp([only, roomFor(1)]);
    for (const name of ['old', 'young']) admissions.admit([makePod(name)], signal);
    await clock.advance(9_999);
    expect(told).toEqual([]);
    await clock.advance(1);
    expect(told).toEqual(['young admitted']);
    await answer('old', { admit: true });
    expect(told).toEqual(['young admitted', 'old OutOfpods']);
    expect(released.at(-1)).toBe('old');
  });

  test('N1: a pod is evaluated again if an overdue older pod was admitted meanwhile', async () => {
    const { handler, answer } = slowHandler();
    const { admissions, told, clock } = setUp([roomFor(1), handler]);
    admissions.admit([makePod('old')], signal);
    await clock.advance(10_000);
    admissions.admit([makePod('young')], signal);
    await answer('old', { admit: true });
    await answer('young', { admit: true });
    expect(told).toEqual(['old admitted', 'young OutOfpods']);
  });

  test('W6: a critical pod preempts others although the device plugin of an older pod hangs', async () => {
    const { handler } = slowHandler();
    const plugin: AdmitHandler = {
      admit: (pod, others, stop) =>
        pod.metadata.name === 'hangs' ? handler.admit(pod, others, stop) : { admit: true },
    };
    const room: AdmitHandler = {
      admit: (_pod, others) =>
        others.length < 2
          ? { admit: true }
          : {
              ...full,
              async recover() {
                active.pop();
                return { admit: true };
              },
            },
    };
    const { admissions, active, told, clock } = setUp([plugin, room]);
    active.push(makePod('x'), makePod('y'));
    for (const name of ['hangs', 'critical']) admissions.admit([makePod(name)], signal);
    await clock.advance(10_000);
    await settled();
    expect(told).toEqual(['critical admitted']);
  });

  test('K4: when the kubelet stops, admissions in progress end and keep no reservations', async () => {
    const end = new AbortController();
    const { handler, answer, asked } = slowHandler();
    const { admissions, told } = setUp([handler]);
    admissions.admit([makePod('a')], end.signal);
    end.abort(new Error('over'));
    expect(asked[0]?.signal.aborted).toBe(true);
    await answer('a', full);
    expect(told).toEqual([]);
    expect(admissions.isUndecided('uid-a')).toBe(false);
  });
});

test('N1: concurrent admissions accept the same pods as admissions one after another, however long each takes', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ size: fc.integer({ min: 1, max: 4 }), fate: fc.constantFrom('now', 'yes', 'no') }), {
        maxLength: 8,
      }),
      fc.infiniteStream(fc.nat()),
      async (wanted, picks) => {
        const places = 6;
        const pods = wanted.map((_, index) => makePod(`${index}`));
        const of = (pod: Pod) => wanted[Number(pod.metadata.name)] ?? { size: 0, fate: 'now' };
        const pending: (() => void)[] = [];
        const fits: AdmitHandler = {
          admit: (pod, others) =>
            [pod, ...others].reduce((sum, one) => sum + of(one).size, 0) <= places ? { admit: true } : full,
        };
        const device: AdmitHandler = {
          admit: (pod) => {
            const { fate } = of(pod);
            if (fate === 'now') return { admit: true };
            return new Promise((resolve) => pending.push(() => resolve(fate === 'yes' ? { admit: true } : full)));
          },
        };
        const { admissions, told } = setUp([fits, device]);
        for (const pod of pods) admissions.admit([pod], signal);
        while (pending.length > 0) {
          const [next] = pending.splice(picks.next().value % pending.length, 1);
          next?.();
          await settled();
        }
        let used = 0;
        const oneByOne = pods.filter((pod) => {
          const admitted = used + of(pod).size <= places && of(pod).fate !== 'no';
          if (admitted) used += of(pod).size;
          return admitted;
        });
        const admitted = told.filter((line) => line.endsWith('admitted')).map((line) => line.split(' ')[0]);
        expect(admitted.sort()).toEqual(oneByOne.map(({ metadata }) => metadata.name));
        expect(told).toHaveLength(pods.length);
      },
    ),
  );
});

test('N1: pods never hold more than the node has, even if pods are admitted before older ones that are overdue', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ size: fc.integer({ min: 1, max: 4 }), isSlow: fc.boolean() }), { maxLength: 8 }),
      fc.boolean(),
      fc.infiniteStream(fc.nat()),
      async (wanted, isDeviceFirst, picks) => {
        const places = 6;
        const of = (pod: Pod) => wanted[Number(pod.metadata.name)] ?? { size: 0, isSlow: false };
        const pending: (() => void)[] = [];
        const sizeOf = (pods: readonly Pod[]): number => pods.reduce((sum, one) => sum + of(one).size, 0);
        const fits: AdmitHandler = {
          admit: (pod, others) => (sizeOf([pod, ...others]) <= places ? { admit: true } : full),
        };
        const device: AdmitHandler = {
          admit: (pod) =>
            of(pod).isSlow
              ? new Promise((resolve) => void pending.push(() => resolve({ admit: true })))
              : { admit: true },
        };
        const { admissions, active, told, clock } = setUp(isDeviceFirst ? [device, fits] : [fits, device]);
        const waiting = wanted.map((_, index) => makePod(`${index}`));
        for (let steps = 0; waiting.length + pending.length > 0 && steps < 200; steps++) {
          const pick = picks.next().value;
          if (pick % 3 === 0) await clock.advance(10_000);
          else if (pick % 3 === 1) admissions.admit(waiting.splice(0, 1), signal);
          else for (const next of pending.splice(pick % (pending.length + 1), 1)) next();
          // Several events may happen in one turn of the event loop.
          if (pick % 2 === 0) await settled();
          expect(sizeOf(active)).toBeLessThanOrEqual(places);
        }
        await settled();
        expect(sizeOf(active)).toBeLessThanOrEqual(places);
        if (waiting.length + pending.length === 0) expect(told).toHaveLength(wanted.length);
      },
    ),
  );
});
