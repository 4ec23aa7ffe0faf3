import type { Pod } from '@node-agent/pod-spec';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Admissions } from '../src/admit/admissions.ts';
import type { AdmitHandler, AdmitResult } from '../src/admit/admit-handler.ts';
import { makePod } from './fakes.ts';

const { signal } = new AbortController();
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A handler that answers when the test says so; asked again, it takes its time again. */
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

/** Room for so many pods beside each other. */
const roomFor = (places: number): AdmitHandler => ({
  admit: (_pod, others) => (others.length < places ? { admit: true } : full),
});
const full: AdmitResult = { admit: false, reason: 'OutOfpods', message: 'full' };

function setUp(handlers: readonly AdmitHandler[]) {
  const active: Pod[] = [];
  const told: string[] = [];
  const admissions = new Admissions({
    handlers,
    activePods: () => [...active],
    onAdmitted: (pod) => {
      active.push(pod);
      told.push(`${pod.metadata.name} admitted`);
    },
    onRefused: (pod, { reason }) => void told.push(`${pod.metadata.name} ${reason}`),
  });
  return { admissions, active, told };
}

describe('pods that are asked for', () => {
  test('are decided at once where no handler takes its time', () => {
    const { admissions, told } = setUp([roomFor(1)]);
    for (const name of ['a', 'b']) admissions.ask(makePod(name), signal);
    expect(told).toEqual(['a admitted', 'b OutOfpods']);
    expect(admissions.isUndecided('uid-b')).toBe(false);
  });

  test('are told of to all handlers when they are to run, before anybody else is asked for', async () => {
    const calls: string[] = [];
    const { handler, answer } = slowHandler();
    const first: AdmitHandler = {
      admit: () => ({ admit: true }),
      admitted: ({ metadata: { name } }) => void calls.push(`${name} admitted`),
      release: ({ metadata: { name } }) => void calls.push(`${name} released`),
    };
    const { admissions, told } = setUp([first, handler]);
    for (const name of ['a', 'b']) admissions.ask(makePod(name), signal);
    expect(calls).toEqual([]);
    await answer('a', { admit: true });
    expect([calls, told]).toEqual([['a admitted'], ['a admitted']]);
    await answer('b', full);
    await answer('b', full);
    expect(calls.filter((call) => call === 'b admitted')).toEqual([]);
    expect(calls).toContain('b released');
  });

  test('C7: one that takes its time holds no other up that fits beside it', async () => {
    const onlySlow: AdmitHandler = {
      admit: (pod, others, stop) => (pod.metadata.name === 'slow' ? handler.admit(pod, others, stop) : { admit: true }),
    };
    const { handler, answer } = slowHandler();
    const { admissions, told } = setUp([onlySlow, roomFor(2)]);
    for (const name of ['slow', 'b']) admissions.ask(makePod(name), signal);
    expect(told).toEqual(['b admitted']);
    expect(admissions.isUndecided('uid-slow')).toBe(true);
    await answer('slow', { admit: true });
    expect(told).toEqual(['b admitted', 'slow admitted']);
  });

  test('N1: one that fits only without an older one waits until that is decided', async () => {
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
      for (const name of ['slow', 'b']) admissions.ask(makePod(name), signal);
      expect(told).toEqual([]);
      await answer('slow', result);
      expect(told).toEqual(expected);
    }
  });

  test('one that would not fit by itself either is refused without waiting for the older ones', () => {
    const { handler } = slowHandler();
    const refuses: AdmitHandler = {
      admit: (pod, others, stop) => (pod.metadata.name === 'bad' ? full : handler.admit(pod, others, stop)),
    };
    const { admissions, told } = setUp([refuses]);
    for (const name of ['slow', 'bad']) admissions.ask(makePod(name), signal);
    expect(told).toEqual(['bad OutOfpods']);
  });

  test('what a handler set aside is free again where a later one refuses', async () => {
    const { handler, answer, released } = slowHandler();
    const { admissions, told } = setUp([handler, roomFor(0)]);
    admissions.ask(makePod('a'), signal);
    await answer('a', { admit: true });
    expect(told).toEqual(['a OutOfpods']);
    expect(released).toEqual(['a']);
  });

  test('a handler that throws, now or later, refuses by that', async () => {
    const throws: AdmitHandler = {
      admit: ({ metadata: { name } }) => {
        if (name === 'a') throw new Error('broken');
        return Promise.reject(new Error('broken'));
      },
    };
    const { admissions, told } = setUp([throws]);
    for (const name of ['a', 'b']) admissions.ask(makePod(name), signal);
    await settled();
    expect(told).toEqual(['a UnexpectedAdmissionError', 'b UnexpectedAdmissionError']);
  });
});

/** Room for two, where `critical` has others ended; they are gone when the test says so. */
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

describe('a pod that others are ended for', () => {
  test('N1: is admitted when they are gone; who does not fit waits for that, and who fits goes on', async () => {
    const { room, begun, ended } = withRecovery();
    const free: AdmitHandler = {
      admit: (pod, others) => (pod.metadata.name === 'fits' ? { admit: true } : room.admit(pod, others, signal)),
    };
    const { admissions, active, told } = setUp([free]);
    active.push(makePod('x'), makePod('y'));
    for (const name of ['critical', 'plain', 'fits']) admissions.ask(makePod(name), signal);
    expect(begun).toEqual(['critical']);
    expect(told).toEqual(['fits admitted']);
    active.splice(0, 2);
    ended();
    await settled();
    expect(told).toEqual(['fits admitted', 'critical admitted', 'plain OutOfpods']);
  });

  test('nobody is ended before all older ones are decided, nor twice', async () => {
    const { room, begun, ended } = withRecovery();
    const { handler, answer } = slowHandler();
    const slow: AdmitHandler = {
      admit: (pod, others, stop) => (pod.metadata.name === 'slow' ? handler.admit(pod, others, stop) : { admit: true }),
    };
    const { admissions, active, told } = setUp([room, slow]);
    active.push(makePod('x'));
    for (const name of ['slow', 'critical-a', 'critical-b']) admissions.ask(makePod(name), signal);
    expect(begun).toEqual([]);
    await answer('slow', { admit: false, reason: 'NoDevice', message: '' });
    // There is room for the first of them by now.
    expect(told).toEqual(['slow NoDevice', 'critical-a admitted']);
    expect(begun).toEqual(['critical-b']);
    ended();
    await settled();
    expect(told.at(-1)).toBe('critical-b admitted');
    expect(begun).toEqual(['critical-b']);
  });

  test('is not refused because an older one takes its time, though it would not fit by itself either', async () => {
    const { room, begun, ended } = withRecovery();
    const { handler, answer } = slowHandler();
    const either: AdmitHandler = {
      admit: (pod, others, stop) => (pod.metadata.name === 'slow' ? handler : room).admit(pod, others, stop),
    };
    const { admissions, active, told } = setUp([either]);
    active.push(makePod('x'), makePod('y'));
    for (const name of ['slow', 'critical']) admissions.ask(makePod(name), signal);
    expect([begun, told]).toEqual([[], []]);
    await answer('slow', { admit: false, reason: 'NoDevice', message: '' });
    expect(begun).toEqual(['critical']);
    ended();
    await settled();
    expect(told).toEqual(['slow NoDevice', 'critical admitted']);
  });

  test('that goes meanwhile is not admitted, and leaves its turn to the next', async () => {
    const { room, ended } = withRecovery();
    const { admissions, active, told } = setUp([room]);
    active.push(makePod('x'), makePod('y'));
    for (const name of ['critical', 'plain']) admissions.ask(makePod(name), signal);
    admissions.withdraw('uid-critical');
    ended();
    await settled();
    expect(told).toEqual(['plain OutOfpods']);
  });

  test('an attempt that fails is a refusal, and what was set aside is free again', async () => {
    const broken: AdmitHandler = {
      admit: () => ({ ...full, recover: () => Promise.reject(new Error('nobody ends')) }),
    };
    const released: string[] = [];
    const first: AdmitHandler = {
      admit: () => ({ admit: true }),
      release: ({ metadata }) => void released.push(metadata.name),
    };
    const { admissions, told } = setUp([first, broken]);
    admissions.ask(makePod('a'), signal);
    await settled();
    expect(told).toEqual(['a UnexpectedAdmissionError']);
    expect(released).toEqual(['a']);
  });
});

describe('a pod that is withdrawn', () => {
  test('is not decided about, its handler is told, and what it admits all the same is released', async () => {
    const { handler, answer, asked, released } = slowHandler();
    const { admissions, told } = setUp([handler, roomFor(9)]);
    admissions.ask(makePod('a'), signal);
    expect(admissions.withdraw('uid-a')).toBe(true);
    expect(asked[0]?.signal.aborted).toBe(true);
    await answer('a', { admit: true });
    expect(told).toEqual([]);
    expect(released).toEqual(['a']);
    expect(admissions.withdraw('uid-a')).toBe(false);
  });

  test('leaves its place to those that waited for it', () => {
    const { handler } = slowHandler();
    const onlySlow: AdmitHandler = {
      admit: (pod, others, stop) => (pod.metadata.name === 'slow' ? handler.admit(pod, others, stop) : { admit: true }),
    };
    const { admissions, told } = setUp([onlySlow, roomFor(1)]);
    for (const name of ['slow', 'b', 'c']) admissions.ask(makePod(name), signal);
    admissions.withdraw('uid-slow');
    expect(told).toEqual(['b admitted', 'c OutOfpods']);
  });

  test('K4: the end of the kubelet ends the asking, and holds nothing', async () => {
    const end = new AbortController();
    const { handler, answer, asked } = slowHandler();
    const { admissions, told } = setUp([handler]);
    admissions.ask(makePod('a'), end.signal);
    end.abort(new Error('over'));
    expect(asked[0]?.signal.aborted).toBe(true);
    await answer('a', full);
    expect(told).toEqual([]);
    expect(admissions.isUndecided('uid-a')).toBe(false);
  });
});

test('N1: however long each takes, the same pods are admitted as one after another', async () => {
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
        for (const pod of pods) admissions.ask(pod, signal);
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
