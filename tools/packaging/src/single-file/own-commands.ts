import { CLUSTER_ARGUMENT } from './part-of.ts';

/** Replaces the module of package cluster: this executable file is both programs. */
export function ownCommand(): readonly string[] {
  return [process.execPath, CLUSTER_ARGUMENT];
}

/** Returns the command that starts the kubelet. */
export function kubeletCommand(): readonly string[] {
  return [process.execPath];
}
