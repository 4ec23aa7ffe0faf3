#!/usr/bin/env node
import { nodeProblem } from '@node-agent/async/node-version';

const problem = nodeProblem(process.versions.node);
if (problem === undefined) {
  // Only now: an old Node.js may not be able to read what is in there.
  const { main } = await import('./main.ts');
  await main(process.argv.slice(2));
} else {
  process.stderr.write(`kubectl-why: ${problem}\n`);
  process.exitCode = 1;
}
