#!/usr/bin/env node
import { nodeProblem } from '@node-agent/async/node-version';

// The start is a function without `await` at the top level, which a single executable file cannot have.
void start(nodeProblem(process.versions.node));

async function start(problem: string | undefined): Promise<void> {
  if (problem !== undefined) {
    process.stderr.write(`kubelet-cluster: ${problem}\n`);
    process.exit(1);
  }
  // The program is imported dynamically, because an old Node.js may fail to parse it.
  const { runProgram } = await import('./program.ts');
  // `process.exit` is needed, because the channel of a detached cluster to its parent would keep the process alive.
  process.exit(await runProgram(process.argv.slice(2)));
}
