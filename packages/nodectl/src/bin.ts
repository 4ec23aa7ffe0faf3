#!/usr/bin/env node
import { nodeProblem } from '@node-agent/async/node-version';

const problem = nodeProblem(process.versions.node);
if (problem === undefined) {
  // Imported dynamically, because an old Node.js may fail to parse it.
  const { main } = await import('./main.ts');
  await main(process.argv.slice(2));
} else {
  process.stderr.write(`nodectl: ${problem}\n`);
  process.exitCode = 1;
}
