import { Worker } from 'node:worker_threads';
import { type Clock, Semaphore, withTimeout } from '@node-agent/async';
import { errorText } from '@node-agent/telemetry';
import { type ManifestReading, readManifest } from './manifest.ts';
import type { ManifestTask } from './manifest-worker.ts';
import { type PodSchema, podSchema } from './pod-schema.ts';
import type { ManifestOrigin } from './static-pod.ts';

/** Reads one manifest apart from the event loop, until `signal` is aborted: the reading takes too long then. */
export type ReadApart = (bytes: Uint8Array, origin: ManifestOrigin, signal: AbortSignal) => Promise<ManifestReading>;

/** A larger manifest is read by a worker thread: YAML of a megabyte takes seconds. */
const LARGE_BYTES = 32 * 1024;
/** What a worker may take of memory; a manifest that needs more is a problem. */
const WORKER_HEAP_MB = 512;

/**
 * How long the reading of a large manifest may take. A list of 15,000 pods takes 16 s on a busy machine; a megabyte of brackets or tags takes
 * minutes, and other large manifests wait for it.
 */
const APART_MS = 120_000;

/** A reading of a large manifest that is in progress, or that nobody has taken yet. */
interface Apart {
  readonly bytes: Uint8Array;
  readonly reading: Promise<ManifestReading>;
}

/**
 * Reads the manifests of one source: small ones at once, large ones one after the other in a worker thread, so that other work goes on. A caller
 * that gives up on a large manifest and asks again for the same content gets the reading that was begun.
 */
export class ManifestReader {
  readonly #clock: Pick<Clock, 'setTimer'>;
  readonly #schema: PodSchema | undefined;
  readonly #readApart: ReadApart;
  readonly #turns = new Semaphore(1);
  readonly #apart = new Map<string, Apart>();

  /** @param schema a schema other than the v1 Pod's stays in this thread */
  constructor(
    { clock }: { readonly clock: Pick<Clock, 'setTimer'> },
    schema: PodSchema | undefined,
    readApart: ReadApart = readInWorker,
  ) {
    this.#clock = clock;
    this.#schema = schema;
    this.#readApart = readApart;
  }

  async read(bytes: Uint8Array, origin: ManifestOrigin): Promise<ManifestReading> {
    if (this.#schema !== undefined || bytes.length <= LARGE_BYTES) {
      return readManifest(bytes, origin, this.#schema ?? podSchema);
    }
    const known = this.#apart.get(origin.location);
    if (known !== undefined && Buffer.compare(known.bytes, bytes) === 0) return await known.reading;
    const reading = this.#readInTurn(bytes, origin);
    this.#apart.set(origin.location, { bytes, reading });
    return await reading;
  }

  /** Forgets the readings of manifests that are gone. */
  retain(locations: readonly string[]): void {
    for (const location of this.#apart.keys()) if (!locations.includes(location)) this.#apart.delete(location);
  }

  async #readInTurn(bytes: Uint8Array, origin: ManifestOrigin): Promise<ManifestReading> {
    using _turn = await this.#turns.acquire();
    try {
      return await withTimeout(this.#clock, APART_MS, (signal) => this.#readApart(bytes, origin, signal));
    } catch (error) {
      // Mostly a manifest that takes too much memory or time.
      return { pods: [], problems: [{ source: origin.location, message: `cannot be read: ${errorText(error)}` }] };
    }
  }
}

/**
 * Reads a manifest in a worker thread of its own, which ends with the reading.
 * @throws errors of the worker, such as ERR_WORKER_OUT_OF_MEMORY; the signal's reason
 */
export async function readInWorker(
  bytes: Uint8Array,
  origin: ManifestOrigin,
  signal: AbortSignal,
): Promise<ManifestReading> {
  signal.throwIfAborted();
  const isSource = import.meta.url.endsWith('.ts');
  const task: ManifestTask = { bytes, origin };
  const worker = new Worker(new URL(isSource ? './manifest-worker.ts' : './manifest-worker.js', import.meta.url), {
    workerData: task,
    // Flags of the program itself are not for it; the sources need their condition.
    execArgv: isSource ? ['--conditions=@node-agent/source', '--disable-warning=ExperimentalWarning'] : [],
    resourceLimits: { maxOldGenerationSizeMb: WORKER_HEAP_MB },
  });
  let onAbort = (): void => {};
  try {
    return await new Promise<ManifestReading>((resolve, reject) => {
      onAbort = () => reject(signal.reason);
      signal.addEventListener('abort', onAbort, { once: true });
      worker.once('message', resolve);
      worker.once('error', reject);
      worker.once('exit', (code) => reject(new Error(`the worker ended with exit code ${code}`)));
    });
  } finally {
    signal.removeEventListener('abort', onAbort);
    await worker.terminate();
  }
}
