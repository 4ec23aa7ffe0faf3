import type { KubeletCaller, KubeletCalls } from '../kubelet-call.ts';
import { sleep } from '../waiting.ts';
import { execTrue, forwardedGet } from './channels.ts';

/** Where a pod of the bench serves files. */
export const HTTP_PORT = 8080;

/** How a load went. */
export interface Load {
  /** How often it was asked, or, of followers, how many lines came. */
  readonly done: number;
  /** What was to be done in that time. */
  readonly wanted: number;
  readonly failed: number;
  /** Of each answer; of followers of none. */
  readonly latencyMs: readonly number[];
  /** What the first failure was. */
  readonly problem?: string;
}

/** Follows logs: resolves when each follower has a line, with what stops them and says how many lines came since. */
export async function followLogs(
  calls: KubeletCalls,
  pods: readonly string[],
  followers: number,
  signal: AbortSignal,
): Promise<{ lines(): number; failed(): number; stop(): Promise<void> }> {
  const stopping = new AbortController();
  const onAbort = (): void => stopping.abort();
  signal.addEventListener('abort', onAbort, { once: true });
  let lines = 0;
  let failed = 0;
  const reading: Promise<void>[] = [];
  const begun = Array.from({ length: followers }, (_, index) => {
    const pod = pods[index % pods.length];
    return new Promise<void>((resolve) => {
      const count = (part: Buffer): void => {
        for (const byte of part) if (byte === 10) lines += 1;
        resolve();
      };
      const path = `/containerLogs/default/${pod}/main?follow=true&tailLines=1`;
      const read = calls.read(path, count, stopping.signal).catch(() => {});
      reading.push(
        read.then(() => {
          if (!stopping.signal.aborted) failed += 1;
          resolve();
        }),
      );
    });
  });
  await Promise.all(begun);
  return {
    lines: () => lines,
    failed: () => failed,
    async stop() {
      stopping.abort();
      await Promise.all(reading);
      signal.removeEventListener('abort', onAbort);
    },
  };
}

/** Does something at a steady rate, whether or not what was begun before has ended. */
export async function atRate(
  { perMinute, seconds }: { readonly perMinute: number; readonly seconds: number },
  once: (index: number) => Promise<number>,
  signal: AbortSignal,
): Promise<Load> {
  const wanted = Math.max(1, Math.round((perMinute * seconds) / 60));
  const latencyMs: number[] = [];
  let failed = 0;
  let problem: string | undefined;
  const startMs = performance.now();
  const under: Promise<void>[] = [];
  for (let index = 0; index < wanted; index++) {
    const dueMs = startMs + (index * seconds * 1000) / wanted;
    await sleep(Math.max(0, dueMs - performance.now()), signal);
    under.push(
      once(index).then(
        (ms) => void latencyMs.push(ms),
        (error: unknown) => {
          failed += 1;
          problem ??= error instanceof Error ? error.message : String(error);
        },
      ),
    );
  }
  await Promise.all(under);
  return { done: latencyMs.length, wanted, failed, latencyMs, ...(problem !== undefined && { problem }) };
}

/** Runs `true` in one pod after another. */
export function execs(
  caller: KubeletCaller,
  pods: readonly string[],
  rate: { readonly perMinute: number; readonly seconds: number },
  signal: AbortSignal,
): Promise<Load> {
  return atRate(rate, (index) => execTrue(caller, pods[index % pods.length] ?? '', signal), signal);
}

/** Reads a page over and over. */
export function scrapes(
  calls: KubeletCalls,
  path: string,
  rate: { readonly perMinute: number; readonly seconds: number },
  signal: AbortSignal,
): Promise<Load> {
  const once = async (): Promise<number> => {
    const startMs = performance.now();
    await calls.page(path, signal);
    return performance.now() - startMs;
  };
  return atRate(rate, once, signal);
}

/** How fast a port-forward is. */
export interface ForwardSpeed {
  readonly bytesPerSecond: number;
  /** Until the first byte of a small answer, each over a forward of its own. */
  readonly firstByteMs: readonly number[];
}

const SMALL_ANSWERS = 50;

/** One large answer, and small ones one after another, from a pod that serves `/large` and `/small`. */
export async function forward(caller: KubeletCaller, pod: string, signal: AbortSignal): Promise<ForwardSpeed> {
  const firstByteMs: number[] = [];
  for (let count = 0; count < SMALL_ANSWERS; count++) {
    firstByteMs.push((await forwardedGet(caller, pod, { port: HTTP_PORT, path: '/small' }, signal)).firstByteMs);
  }
  const { bytes, tookMs } = await forwardedGet(caller, pod, { port: HTTP_PORT, path: '/large' }, signal);
  return { bytesPerSecond: (bytes * 1000) / tookMs, firstByteMs };
}
