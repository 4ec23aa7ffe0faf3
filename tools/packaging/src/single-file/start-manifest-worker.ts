import { getAsset } from 'node:sea';
import { type ResourceLimits, Worker } from 'node:worker_threads';

/** Replaces the module of package pod-config: the worker's program is a part of this executable file. */
export function startManifestWorker(workerData: object, resourceLimits: ResourceLimits): Worker {
  const program = getAsset('manifest-worker.js', 'utf8');
  const source = `${program}({}, (id) => process.getBuiltinModule(id), {})`;
  return new Worker(source, { eval: true, workerData, execArgv: [], resourceLimits });
}
