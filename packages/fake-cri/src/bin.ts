#!/usr/bin/env node
import { nodeProblem } from '@node-agent/async/node-version';

const problem = nodeProblem(process.versions.node);
if (problem === undefined) {
  // Only now: an old Node.js may not be able to read what is in there.
  const { main } = await import('./command.ts');
  // Containers may be running on: their timers end with the process.
  process.exit(await main(process.argv.slice(2)));
}
process.stderr.write(`fake-cri: ${problem}\n`);
process.exitCode = 1;
