import { parentPort, workerData } from 'node:worker_threads';
import { runSeed, type SeedOptions, type SeedReport } from './seed-run.ts';

/** What a worker says: it waits for a seed, one has failed, or is done, or could not be run. */
export type WorkerMessage =
  | { readonly kind: 'ready' }
  | { readonly kind: 'failure'; readonly line: string }
  | { readonly kind: 'report'; readonly report: SeedReport }
  | { readonly kind: 'error'; readonly seed: number; readonly error: unknown };

const options = workerData as SeedOptions;
const port = parentPort;
if (port === null) throw new TypeError('this runs as a worker thread');
// A seed makes errors by the hundred, and where each came from takes a tenth of its time; a seed that is run alone tells.
Error.stackTraceLimit = 0;
const send = (message: WorkerMessage): void => port.postMessage(message);

port.on('message', (seed: number) => {
  runSeed(seed, options, { onFailure: (line) => send({ kind: 'failure', line }) }).then(
    (report) => send({ kind: 'report', report }),
    (error: unknown) => send({ kind: 'error', seed, error }),
  );
});
send({ kind: 'ready' });
