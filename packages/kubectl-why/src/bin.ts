#!/usr/bin/env node
import { nodeProblem } from '@node-agent/async/node-version';

// The call has no top-level `await`, which a single executable file does not support.
void start(nodeProblem(process.versions.node));

async function start(problem: string | undefined): Promise<void> {
  if (problem !== undefined) {
    process.stderr.write(`kubectl-why: ${problem}\n`);
    process.exitCode = 1;
    return;
  }
  // `main.ts` is imported dynamically, because an old Node.js may fail to parse the file.
  const { main } = await import('./main.ts');
  await main(process.argv.slice(2));
}
