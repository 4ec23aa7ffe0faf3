#!/usr/bin/env -S node --max-semi-space-size=4 --no-maglev --no-turbofan --v8-pool-size=1
import { setFlagsFromString } from 'node:v8';
import { nodeProblem } from '@node-agent/async/node-version';
import { heapFlags } from './process/heap-size.ts';

// Must run before any large module is loaded. These flags cannot be in the first line of this file: there, they would
// prevent the heap from growing later.
for (const flag of heapFlags('small')) setFlagsFromString(flag);

// Without `await` at the top level, which a single executable file cannot have.
void start(nodeProblem(process.versions.node));

async function start(problem: string | undefined): Promise<void> {
  if (problem !== undefined) {
    process.stderr.write(`kubelet: ${problem}\n`);
    process.exitCode = 1;
    return;
  }
  const argv = process.argv.slice(2);
  if (argv[0] === 'cluster') {
    // Without the kubelet's modules, because this process only waits.
    const { runClusterProgram } = await import('./cluster-program.ts');
    process.exitCode = await runClusterProgram(argv, process.argv[1] ?? '', process.env.PATH);
    return;
  }
  // Imported after the version check: on an old Node.js the import would fail with an incomprehensible error.
  const { runKubelet } = await import('./command.ts');
  process.exitCode = await runKubelet(argv);
}
