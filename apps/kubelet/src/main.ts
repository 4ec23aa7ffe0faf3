#!/usr/bin/env -S node --max-semi-space-size=4 --no-maglev --no-turbofan --v8-pool-size=1
import { setFlagsFromString } from 'node:v8';
import { nodeProblem } from '@node-agent/async/node-version';
import { START_FLAGS } from './process/heap-size.ts';

// The heap flags must be set before any large module is loaded. In the first line of this file, the flags would prevent
// the heap from growing later.
for (const flag of START_FLAGS) setFlagsFromString(flag);

// No top-level `await`: a single executable file does not support it.
void start(nodeProblem(process.versions.node));

async function start(problem: string | undefined): Promise<void> {
  if (problem !== undefined) {
    process.stderr.write(`kubelet: ${problem}\n`);
    process.exitCode = 1;
    return;
  }
  const argv = process.argv.slice(2);
  if (argv[0] === 'cluster') {
    // The kubelet's modules are not loaded, because this process only waits for the cluster program.
    const { runClusterProgram } = await import('./cluster-program.ts');
    process.exitCode = await runClusterProgram(argv, process.argv[1] ?? '', process.env.PATH);
    return;
  }
  // Imported after the version check: on an old Node.js the import would fail with an incomprehensible error.
  const { runKubelet } = await import('./command.ts');
  process.exitCode = await runKubelet(argv);
}
