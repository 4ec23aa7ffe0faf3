import type { KubeletCaller, KubeletCalls } from '../kubelet-call.ts';
import { sleep } from '../waiting.ts';
import { execTrue, forwardedGet } from './channels.ts';

/** Port at which a pod of the benchmark serves files. */
export const HTTP_PORT = 8080;

/** Results of one kind of load on a kubelet's server. */
export interface Load {
  /** Number of successful requests; for log followers, the number of received lines. */
  readonly done: number;
  /** Number of requests or lines that were expected. */
  readonly wanted: number;
  readonly failed: number;
  /** Latency in ms of each response; empty for log followers. */
  readonly latencyMs: readonly number[];
  /** Message of the first failure. */
  readonly problem?: string;
}

/**
 * Starts log followers. Resolves when each has received a line; the result counts the lines from then on and stops the
 * followers.
 */
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
  const started = Array.from({ length: followers }, (_, index) => {
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
  await Promise.all(started);
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

/** Performs an operation at a steady rate, without waiting for earlier operations. */
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

/** Runs `true` in the pods, one after another. */
export function execs(
  caller: KubeletCaller,
  pods: readonly string[],
  rate: { readonly perMinute: number; readonly seconds: number },
  signal: AbortSignal,
): Promise<Load> {
  return atRate(rate, (index) => execTrue(caller, pods[index % pods.length] ?? '', signal), signal);
}

/** Fetches a page repeatedly. */
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

/** Speed of a port-forward. */
export interface ForwardSpeed {
  readonly bytesPerSecond: number;
  /** Times in ms to the first byte of a small response, each through a new port-forward. */
  readonly firstByteMs: readonly number[];
}

const SMALL_ANSWERS = 50;

/** Requests one large response, and small ones one after another, from a pod that serves `/large` and `/small`. */
export async function forward(caller: KubeletCaller, pod: string, signal: AbortSignal): Promise<ForwardSpeed> {
  const firstByteMs: number[] = [];
  for (let count = 0; count < SMALL_ANSWERS; count++) {
    firstByteMs.push((await forwardedGet(caller, pod, { port: HTTP_PORT, path: '/small' }, signal)).firstByteMs);
  }
  const { bytes, tookMs } = await forwardedGet(caller, pod, { port: HTTP_PORT, path: '/large' }, signal);
  return { bytesPerSecond: (bytes * 1000) / tookMs, firstByteMs };
}
