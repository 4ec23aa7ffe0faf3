import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { AsyncError, abortable, linkAbort, untilAborted, withTimeout } from '../src/index.ts';
import { FakeClock } from '../src/testing.ts';

const listeners = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length;

describe('linkAbort', () => {
  it('follows the first parent that is aborted, and then holds on to none', () => {
    const [a, b] = [new AbortController(), new AbortController()];
    const link = linkAbort(a.signal, undefined, b.signal);
    b.abort('b');
    a.abort('a');
    expect(link.signal.reason).toBe('b');
    expect([listeners(a.signal), listeners(b.signal)]).toEqual([0, 0]);
  });

  it('is aborted at once by a parent that is aborted already', () => {
    const late = new AbortController();
    const link = linkAbort(AbortSignal.abort('before'), late.signal);
    expect(link.signal.reason).toBe('before');
    expect(listeners(late.signal)).toBe(0);
  });

  it('is released by its disposal, unaborted', () => {
    const parent = new AbortController();
    const link = linkAbort(parent.signal);
    expect(listeners(parent.signal)).toBe(1);
    link[Symbol.dispose]();
    parent.abort();
    expect(link.signal.aborted).toBe(false);
    expect(listeners(parent.signal)).toBe(0);
  });

  it('aborts alone', () => {
    const parent = new AbortController();
    using link = linkAbort(parent.signal);
    link.abort('own');
    expect([link.signal.reason, parent.signal.aborted, listeners(parent.signal)]).toEqual(['own', false, 0]);
  });
});

describe('untilAborted', () => {
  it('resolves with the abort, and at once where that has been', async () => {
    const controller = new AbortController();
    const waiting = untilAborted(controller.signal);
    await expect(Promise.race([waiting, Promise.resolve('not yet')])).resolves.toBe('not yet');
    controller.abort(new Error('enough'));
    await expect(waiting).resolves.toBeUndefined();
    await expect(untilAborted(controller.signal)).resolves.toBeUndefined();
  });
});

describe('abortable', () => {
  it('gives what the promise gives, and leaves no listener', async () => {
    const { signal } = new AbortController();
    await expect(abortable(Promise.resolve(1), signal)).resolves.toBe(1);
    await expect(abortable(Promise.reject(new Error('no')), signal)).rejects.toThrow('no');
    await expect(abortable(Promise.resolve(2), undefined)).resolves.toBe(2);
    expect(listeners(signal)).toBe(0);
  });

  it('ends with the abort, whatever the promise does later', async () => {
    const controller = new AbortController();
    const { promise, reject } = Promise.withResolvers<void>();
    const waiting = abortable(promise, controller.signal);
    controller.abort('enough');
    await expect(waiting).rejects.toBe('enough');
    // Nobody waits for it any more: it must not become an unhandled rejection.
    reject(new Error('late'));
    await new Promise((resolve) => setImmediate(resolve));
  });
});

describe('withTimeout', () => {
  it('leaves no unhandled rejection if it or its operation could not start', async () => {
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
    // What nobody handles is told of at the next turn, and fails the test.
    await new Promise((resolve) => setImmediate(resolve));
  });

  it('gives the result, and leaves neither timer nor listener', async () => {
    const clock = new FakeClock();
    const { signal } = new AbortController();
    expect(await withTimeout(clock, 100, async () => 'done', signal)).toBe('done');
    expect([clock.pendingTimers, listeners(signal)]).toEqual([0, 0]);
  });

  it('fails with Timeout on time even if the operation ignores its signal, and aborts the signal', async () => {
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

  it('fails with a Timeout though the operation rejects with AbortError as soon as its signal is aborted', async () => {
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

  it('passes the reason of the parent on, and does not begin where it is aborted already', async () => {
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

  it('passes on what the operation throws, synchronously too', async () => {
    const clock = new FakeClock();
    const operation = (): Promise<never> => {
      throw new Error('at once');
    };
    await expect(withTimeout(clock, 100, operation)).rejects.toThrow('at once');
    expect(clock.pendingTimers).toBe(0);
  });
});
