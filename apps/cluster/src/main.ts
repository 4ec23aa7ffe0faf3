#!/usr/bin/env node
import { nodeProblem } from '@node-agent/async/node-version';

// Without `await` at the top level, which a single executable file cannot have.
void start(nodeProblem(process.versions.node));

async function start(problem: string | undefined): Promise<void> {
  if (problem !== undefined) {
    process.stderr.write(`kubelet-cluster: ${problem}\n`);
    process.exit(1);
  }
  // Imported dynamically, because an old Node.js may fail to parse it.
  const { runProgram } = await import('./program.ts');
  // A detached cluster keeps a channel to the command that started it, which would keep the process alive.
  process.exit(await runProgram(process.argv.slice(2)));
}
