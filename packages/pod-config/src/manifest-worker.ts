import { parentPort, workerData } from 'node:worker_threads';
import { readManifest } from './manifest.ts';
import { podSchema } from './pod-schema.ts';
import type { ManifestOrigin } from './static-pod.ts';

/** A manifest to read, passed as `workerData`. */
export interface ManifestTask {
  readonly bytes: Uint8Array;
  readonly origin: ManifestOrigin;
}

// Runs as a worker thread of ManifestReader, for one manifest.
const { bytes, origin } = workerData as ManifestTask;
parentPort?.postMessage(readManifest(bytes, origin, podSchema));
