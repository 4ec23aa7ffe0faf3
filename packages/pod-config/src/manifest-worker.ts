import { parentPort, workerData } from 'node:worker_threads';
import { readManifest } from './manifest.ts';
import { podSchema } from './pod-schema.ts';
import type { ManifestOrigin } from './static-pod.ts';

/** The input of the worker: `workerData` has this form. */
export interface ManifestTask {
  readonly bytes: Uint8Array;
  readonly origin: ManifestOrigin;
}

// ManifestReader starts this module as a worker thread for one manifest. Imported elsewhere, the module does nothing.
if (parentPort !== null && isTask(workerData)) {
  parentPort.postMessage(readManifest(workerData.bytes, workerData.origin, podSchema));
}

function isTask(data: unknown): data is ManifestTask {
  return typeof data === 'object' && data !== null && 'bytes' in data && 'origin' in data;
}
