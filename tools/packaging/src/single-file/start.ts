import { setFlagsFromString } from 'node:v8';
import { heapFlags, START_FLAGS } from '../../../../apps/kubelet/src/process/heap-size.ts';
import { loadPart } from './load-part.ts';
import { partOf } from './part-of.ts';

/** Runs the program that the name of the executable file and the arguments select. */
export function start(): void {
  // The flags must be set before any part is loaded, because V8 rejects a code cache that was made with other flags.
  const part = partOf(process.argv0, process.argv.slice(2));
  for (const flag of part === 'kubelet' ? START_FLAGS : heapFlags('small')) setFlagsFromString(flag);
  loadPart(part);
}
