import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ContainerdBinaries } from '@node-agent/tools-containerd';
import { BareRuntime } from './bare-runtime.ts';
import type { BareRestart, Measured, Restart } from './figures.ts';
import { Kubelet } from './kubelet.ts';
import { KubeletRuns } from './kubelet-runs.ts';
import type { BenchOptions } from './options.ts';
import { RuntimeSide } from './runtime-side.ts';
import { sleep } from './waiting.ts';

/** Time in ms for a kubelet to settle before it is measured at rest. */
const SETTLE_MS = 15_000;
/** Measuring time in seconds for a kubelet without pods. */
const EMPTY_SECONDS = 10;

/** Dependencies of a run. */
export interface BenchEnvironment {
  readonly binaries: ContainerdBinaries;
  /** Path of the kubelet. */
  readonly program: string;
  /** Directory for the run's files. Its path must be short, because it contains sockets. */
  readonly directory: string;
  /** Two subnets that the machine does not use. */
  readonly subnets: readonly [string, string];
  readonly say: (text: string) => void;
}

/**
 * Performs one run: measures all selected parts on both sides alternately. Everything that it started is stopped when
 * the promise settles.
 */
export async function runBench(
  options: BenchOptions,
  environment: BenchEnvironment,
  signal: AbortSignal,
): Promise<Measured> {
  const { binaries, directory, program, subnets, say } = environment;
  await using cleanup = new AsyncDisposableStack();
  say(`starting two private containerds ${binaries.version}`);
  const side = async (name: string, subnet: string): Promise<RuntimeSide> => {
    const started = await RuntimeSide.start(binaries, join(directory, name), subnet);
    cleanup.defer(() => started.stop());
    return started;
  };
  const bareSide = await side('b', subnets[0]);
  signal.throwIfAborted();
  const kubeletSide = await side('k', subnets[1]);
  signal.throwIfAborted();
  const kubelet = new Kubelet({
    program,
    nodeFlags: options.nodeFlags,
    verbosity: options.verbosity,
    endpoint: kubeletSide.endpoint,
    directory: join(directory, 'n'),
  });
  cleanup.defer(async () => {
    await kubelet.stop();
    if (options.keepLog !== undefined) await copyFile(kubelet.logFile, options.keepLog);
  });
  await kubelet.start(signal);
  const bench = new Bench(options, new BareRuntime(bareSide, join(directory, 'p')), kubelet, kubeletSide, say);
  const measured = await bench.run(signal);
  say('cleaning up');
  return measured;
}

class Bench {
  readonly #options: BenchOptions;
  readonly #bare: BareRuntime;
  readonly #kubelet: Kubelet;
  readonly #runs: KubeletRuns;
  readonly #say: (text: string) => void;
  #round = 0;

  constructor(
    options: BenchOptions,
    bare: BareRuntime,
    kubelet: Kubelet,
    side: RuntimeSide,
    say: (text: string) => void,
  ) {
    this.#options = options;
    this.#bare = bare;
    this.#kubelet = kubelet;
    this.#runs = new KubeletRuns(side, kubelet);
    this.#say = say;
  }

  async run(signal: AbortSignal): Promise<Measured> {
    const { parts } = this.#options;
    const empty = parts.includes('idle') ? await this.#empty(signal) : undefined;
    this.#say('starting one pod on each side, to warm up');
    await this.#single(signal);
    const single = parts.includes('single') ? await this.#singles(signal) : undefined;
    const batches = parts.includes('batch') ? await this.#batches(signal) : [];
    const restarts = parts.includes('restart') ? await this.#restarts(signal) : undefined;
    const idle = parts.includes('idle') ? await this.#idle(signal) : undefined;
    return {
      ...(single && { single }),
      batches,
      ...(restarts && { restarts }),
      ...(empty && { empty }),
      ...(idle && { idle }),
    };
  }

  async #empty(signal: AbortSignal): Promise<Measured['empty']> {
    this.#say(`measuring the kubelet without pods for ${SETTLE_MS / 1000 + EMPTY_SECONDS} s`);
    await sleep(SETTLE_MS, signal);
    const { cpuShare } = await this.#rest(EMPTY_SECONDS, signal);
    return { rssBytes: (await this.#kubelet.usage()).rssBytes, cpuShare };
  }

  /** Starts one pod on each side. @returns the time of each side in ms */
  async #single(signal: AbortSignal): Promise<{ readonly bareMs: number; readonly kubeletMs: number }> {
    const names = this.#names('one', 1);
    const bare = await this.#bare.batch(names, 1, signal);
    await this.#bare.clear(signal);
    const own = await this.#runs.batch(names, signal);
    await this.#runs.clear(names, signal);
    return { bareMs: bare.totalMs, kubeletMs: own.totalMs };
  }

  async #singles(signal: AbortSignal): Promise<Measured['single']> {
    this.#say(`starting a single pod ${this.#options.singles} times`);
    const results = [];
    for (let count = 0; count < this.#options.singles; count++) results.push(await this.#single(signal));
    return { bareMs: results.map(({ bareMs }) => bareMs), kubeletMs: results.map(({ kubeletMs }) => kubeletMs) };
  }

  async #batches(signal: AbortSignal): Promise<Measured['batches']> {
    const { pods, repetitions } = this.#options;
    const concurrency = await this.#bestConcurrency(signal);
    const batches: Measured['batches'][number][] = [];
    for (let repetition = 0; repetition < repetitions; repetition++) {
      const names = this.#names('batch', pods);
      const bare = await this.#bare.batch(names, concurrency, signal);
      await this.#bare.clear(signal);
      const kubelet = await this.#runs.batch(names, signal);
      await this.#runs.clear(names, signal);
      this.#say(`${pods} pods: bare ${seconds(bare.totalMs)}, kubelet ${seconds(kubelet.totalMs)}`);
      batches.push({ bare, kubelet });
    }
    return batches;
  }

  async #bestConcurrency(signal: AbortSignal): Promise<number> {
    const { concurrency, pods } = this.#options;
    let best: { readonly count: number; readonly totalMs: number } | undefined;
    for (const count of concurrency) {
      if (concurrency.length === 1) return count;
      const { totalMs } = await this.#bare.batch(this.#names('try', pods), count, signal);
      await this.#bare.clear(signal);
      this.#say(`${pods} pods, bare, concurrency ${count}: ${seconds(totalMs)}`);
      if (best === undefined || totalMs < best.totalMs) best = { count, totalMs };
    }
    return best?.count ?? 1;
  }

  async #restarts(signal: AbortSignal): Promise<Measured['restarts']> {
    const { restarts } = this.#options;
    this.#say(`killing ${restarts} containers on each side`);
    const names = this.#names('crash', restarts);
    await this.#runs.batch(names, signal);
    const bare: BareRestart[] = [];
    const kubelet: Restart[] = [];
    for (const name of names) {
      bare.push(await this.#bare.restart(name, signal));
      kubelet.push(await this.#runs.restart(name, signal));
    }
    await this.#bare.clear(signal);
    await this.#runs.clear(names, signal);
    return { bare, kubelet };
  }

  async #idle(signal: AbortSignal): Promise<Measured['idle']> {
    const { idlePods, idleSeconds } = this.#options;
    const names = this.#names('idle', idlePods);
    const { totalMs } = await this.#runs.batch(names, signal);
    this.#say(
      `${idlePods} pods ready in ${seconds(totalMs)}; the kubelet at rest, ${SETTLE_MS / 1000 + idleSeconds} s`,
    );
    await sleep(SETTLE_MS, signal);
    const rest = await this.#rest(idleSeconds, signal);
    const { rssBytes, peakRssBytes } = await this.#kubelet.usage();
    await this.#runs.clear(names, signal);
    return { pods: idlePods, rssBytes, peakRssBytes, ...rest };
  }

  async #rest(
    forSeconds: number,
    signal: AbortSignal,
  ): Promise<{ readonly cpuShare: number; readonly sleepsPerSecond: number }> {
    const before = await this.#kubelet.usage();
    const startMs = performance.now();
    await sleep(forSeconds * 1000, signal);
    const after = await this.#kubelet.usage();
    const elapsed = (performance.now() - startMs) / 1000;
    return {
      cpuShare: (after.cpuSeconds - before.cpuSeconds) / elapsed,
      sleepsPerSecond: (after.sleeps - before.sleeps) / elapsed,
    };
  }

  /** Returns names that no earlier pod of this run had. */
  #names(kind: string, count: number): readonly string[] {
    this.#round++;
    return Array.from({ length: count }, (_none, index) => `${kind}-${this.#round}-${index}`);
  }
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`;
}
