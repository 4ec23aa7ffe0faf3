import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { AsyncError, abortable, linkAbort, untilAborted, withTimeout } from '../src/index.ts';
import { FakeClock } from '../src/testing.ts';

const listeners = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length;

describe('linkAbort', () => {
  it('linkAbort follows the first parent signal that is aborted, and then keeps no reference to any parent', () => {
    const [a, b] = [new AbortController(), new AbortController()];
    const link = linkAbort(a.signal, undefined, b.signal);
    b.abort('b');
    a.abort('a');
    expect(link.signal.reason).toBe('b');
    expect([listeners(a.signal), listeners(b.signal)]).toEqual([0, 0]);
  });

  it('linkAbort is aborted immediately if a parent signal is already aborted', () => {
    const late = new AbortController();
    const link = linkAbort(AbortSignal.abort('before'), late.signal);
    expect(link.signal.reason).toBe('before');
    expect(listeners(late.signal)).toBe(0);
  });

  it('disposing linkAbort removes its listeners without aborting its signal', () => {
    const parent = new AbortController();
    const link = linkAbort(parent.signal);
    expect(listeners(parent.signal)).toBe(1);
    link[Symbol.dispose]();
    parent.abort();
    expect(link.signal.aborted).toBe(false);
    expect(listeners(parent.signal)).toBe(0);
  });

  it('aborting the linked signal does not abort its parents', () => {
    const parent = new AbortController();
    using link = linkAbort(parent.signal);
    link.abort('own');
    expect([link.signal.reason, parent.signal.aborted, listeners(parent.signal)]).toEqual(['own', false, 0]);
  });
});

describe('untilAborted', () => {
  it('untilAborted resolves on abort, and immediately if the signal is already aborted', async () => {
    const controller = new AbortController();
    const waiting = untilAborted(controller.signal);
    await expect(Promise.race([waiting, Promise.resolve('not yet')])).resolves.toBe('not yet');
    controller.abort(new Error('enough'));
    await expect(waiting).resolves.toBeUndefined();
    await expect(untilAborted(controller.signal)).resolves.toBeUndefined();
  });
});

describe('abortable', () => {
  it("abortable returns the promise's result and leaves no listener", async () => {
    const { signal } = new AbortController();
    await expect(abortable(Promise.resolve(1), signal)).resolves.toBe(1);
    await expect(abortable(Promise.reject(new Error('no')), signal)).rejects.toThrow('no');
    await expect(abortable(Promise.resolve(2), undefined)).resolves.toBe(2);
    expect(listeners(signal)).toBe(0);
  });

  it('abortable rejects on abort, whatever the promise does later', async () => {
    const controller = new AbortController();
    const { promise, reject } = Promise.withResolvers<void>();
    const waiting = abortable(promise, controller.signal);
    controller.abort('enough');
    await expect(waiting).rejects.toBe('enough');
    // `abortable` has already rejected because of the abort, so this later rejection must not become an unhandled
    // rejection.
    reject(new Error('late'));
    await new Promise((resolve) => setImmediate(resolve));
  });
});

describe('withTimeout', () => {
  it('withTimeout leaves no unhandled rejection if its clock or the operation throws', async () => {
    const parent = new AbortController();
    const broken = {
      setTimer: () => {
        throw new Error('no clock');
      },
    };
    const reached = withTimeout(broken, 100, async () => 'done', parent.signal);
    await expect(reached).rejects.toThrow('no clock');
    const begun = withTimeout(
      new FakeClock(),
      100,
      () => {
        parent.abort(new Error('gone'));
        throw new Error('broken');
      },
      parent.signal,
    );
    await expect(begun).rejects.toThrow('broken');
    // Node.js reports an unhandled rejection in the next turn of the event loop, which fails the test.
    await new Promise((resolve) => setImmediate(resolve));
  });

  it("withTimeout returns the operation's result, and leaves no timer and no listener", async () => {
    const clock = new FakeClock();
    const { signal } = new AbortController();
    expect(await withTimeout(clock, 100, async () => 'done', signal)).toBe('done');
    expect([clock.pendingTimers, listeners(signal)]).toEqual([0, 0]);
  });

  it("withTimeout aborts the operation's signal at the deadline and throws Timeout, even if the operation ignores the signal", async () => {
    const clock = new FakeClock();
    const parent = new AbortController();
    let seen: AbortSignal | undefined;
    const running = withTimeout(
      clock,
      100,
      (signal) => {
        seen = signal;
        return new Promise<never>(() => {});
      },
      parent.signal,
    );
    const failure = expect(running).rejects.toMatchObject({ name: 'AsyncError', code: 'Timeout' });
    await clock.advance(100);
    await failure;
    expect(seen?.reason).toBeInstanceOf(AsyncError);
    expect([clock.pendingTimers, listeners(parent.signal)]).toEqual([0, 0]);
  });

  it('withTimeout throws Timeout even if the operation rejects with AbortError on the abort of its signal', async () => {
    const clock = new FakeClock();
    const running = withTimeout(
      clock,
      100,
      (signal) =>
        new Promise<never>((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(new DOMException('aborted', 'AbortError')));
        }),
    );
    const failure = expect(running).rejects.toMatchObject({ name: 'AsyncError', code: 'Timeout' });
    await clock.advance(100);
    await failure;
  });

  it('withTimeout throws the reason of a parent that is aborted while the operation starts, even if the operation ignores the signal', async () => {
    const clock = new FakeClock();
    const parent = new AbortController();
    const operation = (): Promise<never> => {
      parent.abort(new Error('gone'));
      return new Promise(() => {});
    };
    await expect(withTimeout(clock, 100, operation, parent.signal)).rejects.toThrow('gone');
    expect([clock.pendingTimers, listeners(parent.signal)]).toEqual([0, 0]);
  });

  it("withTimeout throws the parent signal's reason, and does not start the operation if the parent is already aborted", async () => {
    const clock = new FakeClock();
    const parent = new AbortController();
    const running = withTimeout(clock, 100, () => new Promise<never>(() => {}), parent.signal);
    parent.abort('enough');
    await expect(running).rejects.toBe('enough');
    let begun = false;
    const operation = async (): Promise<void> => {
      begun = true;
    };
    await expect(withTimeout(clock, 100, operation, parent.signal)).rejects.toBe('enough');
    expect([begun, clock.pendingTimers]).toEqual([false, 0]);
  });

  it('withTimeout rethrows an error of the operation, even one thrown synchronously', async () => {
    const clock = new FakeClock();
    const operation = (): Promise<never> => {
      throw new Error('at once');
    };
    await expect(withTimeout(clock, 100, operation)).rejects.toThrow('at once');
    expect(clock.pendingTimers).toBe(0);
  });
});
