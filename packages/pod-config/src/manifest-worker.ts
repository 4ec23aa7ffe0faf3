import { parentPort, workerData } from 'node:worker_threads';
import { readManifest } from './manifest.ts';
import { podSchema } from './pod-schema.ts';
import type { ManifestOrigin } from './static-pod.ts';

/** A manifest to be read, as `workerData` has it. */
export interface ManifestTask {
  readonly bytes: Uint8Array;
  readonly origin: ManifestOrigin;
}

// Run as a worker thread by ManifestReader, for one manifest.
const { bytes, origin } = workerData as ManifestTask;
parentPort?.postMessage(readManifest(bytes, origin, podSchema));
