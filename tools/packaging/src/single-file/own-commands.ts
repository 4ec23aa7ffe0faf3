import { CLUSTER_ARGUMENT } from './part-of.ts';

/** Replaces the module of package cluster: this executable file contains both programs. */
export function ownCommand(argv: readonly string[]): readonly string[] {
  const isNamed = argv[0] === CLUSTER_ARGUMENT;
  return [process.execPath, ...(isNamed ? argv : [CLUSTER_ARGUMENT, ...argv])];
}

/** Returns the command that starts the kubelet. */
export function kubeletCommand(): readonly string[] {
  return [process.execPath];
}
