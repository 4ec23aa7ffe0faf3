import { Worker } from 'node:worker_threads';
import type { SeedListener, SeedOptions, SeedReport } from './seed-run.ts';
import type { WorkerMessage } from './seed-worker.ts';

/**
 * Each seed creates a world and discards it afterwards. With a large young generation, V8's garbage collector copies
 * little of this memory.
 */
const YOUNG_GENERATION_MB = 64;

/**
 * Runs seeds in worker threads. Each worker runs the next seed that no other worker has started.
 * @throws the error that a run threw, with its seed
 */
export async function runInWorkers(
  seeds: { readonly from: number; readonly count: number },
  workers: number,
  options: SeedOptions,
  listener: Pick<SeedListener, 'onFailure'> & { readonly onReport: (report: SeedReport) => void },
): Promise<void> {
  let next = seeds.from;
  const end = seeds.from + seeds.count;
  const one = (): Promise<void> =>
    new Promise<void>((resolve, reject) => {
      const worker = new Worker(new URL('./seed-worker.ts', import.meta.url), {
        workerData: options,
        resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
      });
      const giveNext = (): void => {
        if (next < end) worker.postMessage(next++);
        else void worker.terminate();
      };
      worker.on('message', (message: WorkerMessage) => {
        if (message.kind === 'failure') return listener.onFailure(message.line);
        if (message.kind === 'error') return reject(new Error(`seed ${message.seed}`, { cause: message.error }));
        if (message.kind === 'report') listener.onReport(message.report);
        giveNext();
      });
      worker.on('error', reject);
      worker.on('exit', () => resolve());
    });
  await Promise.all(Array.from({ length: Math.min(workers, seeds.count) }, one));
}
