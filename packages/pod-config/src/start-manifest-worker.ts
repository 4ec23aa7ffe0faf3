import { type ResourceLimits, Worker } from 'node:worker_threads';
import type { ManifestTask } from './manifest-worker.ts';

/**
 * Starts a worker thread that reads one manifest: this package's `manifest-worker.ts`, or `manifest-worker.js` beside
 * the build. A single executable file contains no separate worker file; its build replaces this module.
 */
export function startManifestWorker(task: ManifestTask, resourceLimits: ResourceLimits): Worker {
  const isSource = import.meta.url.endsWith('.ts');
  return new Worker(new URL(isSource ? './manifest-worker.ts' : './manifest-worker.js', import.meta.url), {
    workerData: task,
    // The program's own Node flags are not passed on. Running from sources requires the export condition.
    execArgv: isSource ? ['--conditions=@node-agent/source', '--disable-warning=ExperimentalWarning'] : [],
    resourceLimits,
  });
}
