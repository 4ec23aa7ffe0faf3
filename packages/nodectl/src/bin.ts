#!/usr/bin/env node
import { nodeProblem } from '@node-agent/async/node-version';

// A single executable file cannot have `await` at the top level.
void start(nodeProblem(process.versions.node));

async function start(problem: string | undefined): Promise<void> {
  if (problem !== undefined) {
    process.stderr.write(`nodectl: ${problem}\n`);
    process.exitCode = 1;
    return;
  }
  // The module is imported dynamically, because an old Node.js may fail to parse it.
  const { main } = await import('./main.ts');
  await main(process.argv.slice(2));
}
