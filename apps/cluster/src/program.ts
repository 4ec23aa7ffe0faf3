import { PARTS, readCall } from './call.ts';
import { runCommand } from './command.ts';
import { runCluster } from './inside/run-cluster.ts';
import { runNode } from './inside/run-node.ts';

/**
 * Runs the command, or the part of the program that the command has started in namespaces. Returns the exit code.
 * @param argv the arguments after the program's name
 */
export function runProgram(argv: readonly string[]): Promise<number> {
  const { calledAs, args } = readCall(argv);
  const [part, planFile = '', nodeName = ''] = args;
  if (part === PARTS.cluster) return runCluster(planFile);
  if (part === PARTS.node) return runNode(planFile, nodeName);
  return runCommand(calledAs, args);
}
