import { parentPort, workerData } from 'node:worker_threads';
import { runSeed, type SeedOptions, type SeedReport } from './seed-run.ts';

/** Messages of a worker: the worker is ready for a seed, a seed failed, a seed is done, or a seed could not be run. */
export type WorkerMessage =
  | { readonly kind: 'ready' }
  | { readonly kind: 'failure'; readonly line: string }
  | { readonly kind: 'report'; readonly report: SeedReport }
  | { readonly kind: 'error'; readonly seed: number; readonly error: unknown };

const options = workerData as SeedOptions;
const port = parentPort;
if (port === null) throw new TypeError('seed-worker must run as a worker thread');
// A run creates hundreds of errors, and stack traces would take a tenth of the run's time. A seed that is run alone has
// stack traces.
Error.stackTraceLimit = 0;
const send = (message: WorkerMessage): void => port.postMessage(message);

port.on('message', (seed: number) => {
  runSeed(seed, options, { onFailure: (line) => send({ kind: 'failure', line }) }).then(
    (report) => send({ kind: 'report', report }),
    (error: unknown) => send({ kind: 'error', seed, error }),
  );
});
send({ kind: 'ready' });
