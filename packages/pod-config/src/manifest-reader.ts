import { type Clock, Semaphore, withTimeout } from '@node-agent/async';
import { errorText } from '@node-agent/telemetry';
import { type ManifestReading, readManifest } from './manifest.ts';
import { type PodSchema, podSchema } from './pod-schema.ts';
import { startManifestWorker } from './start-manifest-worker.ts';
import type { ManifestOrigin } from './static-pod.ts';

/** Reads one manifest outside the event loop. Aborting `signal` ends a reading that takes too long. */
export type ReadApart = (bytes: Uint8Array, origin: ManifestOrigin, signal: AbortSignal) => Promise<ManifestReading>;

/** Manifests above this size are read by a worker thread: a megabyte of YAML takes seconds. */
const LARGE_BYTES = 32 * 1024;
/** Memory limit of a worker. A manifest that needs more is reported as a problem. */
const WORKER_HEAP_MB = 512;

/**
 * Time limit for reading a large manifest. To read a list of 15,000 pods takes 16 s on a busy machine. To read a
 * megabyte of brackets or tags takes minutes, and meanwhile other large manifests wait.
 */
const APART_MS = 120_000;

/** A reading of a large manifest that is in progress or whose result was not collected yet. */
interface Apart {
  readonly bytes: Uint8Array;
  readonly reading: Promise<ManifestReading>;
}

/**
 * Reads the manifests of one source. Small manifests are read immediately. Large ones are read one after another in a
 * worker thread, so that other work continues. If a caller gives up on a large manifest and later requests the same
 * content again, the caller gets the reading that was already started.
 */
export class ManifestReader {
  readonly #clock: Pick<Clock, 'setTimer'>;
  readonly #schema: PodSchema | undefined;
  readonly #readApart: ReadApart;
  readonly #turns = new Semaphore(1);
  readonly #apart = new Map<string, Apart>();

  /**
   * Creates the reader of one source.
   * @param schema if this is not the schema of the v1 Pod, all manifests are read in this thread
   */
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

  /** Drops the readings of manifests that no longer exist. */
  retain(locations: readonly string[]): void {
    for (const location of this.#apart.keys()) if (!locations.includes(location)) this.#apart.delete(location);
  }

  async #readInTurn(bytes: Uint8Array, origin: ManifestOrigin): Promise<ManifestReading> {
    using _turn = await this.#turns.acquire();
    try {
      return await withTimeout(this.#clock, APART_MS, (signal) => this.#readApart(bytes, origin, signal));
    } catch (error) {
      // The usual cause is a manifest that needs too much memory or time.
      return { pods: [], problems: [{ source: origin.location, message: `cannot be read: ${errorText(error)}` }] };
    }
  }
}

/**
 * Reads a manifest in a new worker thread, which ends with the reading.
 * @throws errors of the worker, such as ERR_WORKER_OUT_OF_MEMORY; the signal's reason
 */
export async function readInWorker(
  bytes: Uint8Array,
  origin: ManifestOrigin,
  signal: AbortSignal,
): Promise<ManifestReading> {
  signal.throwIfAborted();
  const worker = startManifestWorker({ bytes, origin }, { maxOldGenerationSizeMb: WORKER_HEAP_MB });
  let onAbort = (): void => {};
  try {
    return await new Promise<ManifestReading>((resolve, reject) => {
      onAbort = () => reject(signal.reason);
      signal.addEventListener('abort', onAbort, { once: true });
      worker.once('message', resolve);
      worker.once('error', reject);
      worker.once('exit', (code) => reject(new Error(`the worker exited with code ${code}`)));
    });
  } finally {
    signal.removeEventListener('abort', onAbort);
    await worker.terminate();
  }
}
