import { setFlagsFromString } from 'node:v8';
import { heapFlags } from '../../../../apps/kubelet/src/process/heap-size.ts';
import { loadPart } from './load-part.ts';
import { partOf } from './part-of.ts';

/** Runs the program that the name of the executable file and the arguments select. */
export function start(): void {
  // The flags must be set before any part is loaded, because V8 rejects a code cache that was made with other flags.
  for (const flag of heapFlags('small')) setFlagsFromString(flag);
  loadPart(partOf(process.argv0, process.argv.slice(2)));
}
