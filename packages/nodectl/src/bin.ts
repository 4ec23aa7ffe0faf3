#!/usr/bin/env node
import { nodeProblem } from '@node-agent/async/node-version';

// Without `await` at the top level, which a single executable file cannot have.
void start(nodeProblem(process.versions.node));

async function start(problem: string | undefined): Promise<void> {
  if (problem !== undefined) {
    process.stderr.write(`nodectl: ${problem}\n`);
    process.exitCode = 1;
    return;
  }
  // Imported dynamically, because an old Node.js may fail to parse it.
  const { main } = await import('./main.ts');
  await main(process.argv.slice(2));
}
