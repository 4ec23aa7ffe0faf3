#!/usr/bin/env node
import { nodeProblem } from '@node-agent/async/node-version';

const problem = nodeProblem(process.versions.node);
if (problem === undefined) {
  // Imported only after the version check: an old Node.js may fail to parse the imported files.
  const { main } = await import('./command.ts');
  // process.exit is needed because running containers still hold timers.
  process.exit(await main(process.argv.slice(2)));
}
process.stderr.write(`fake-cri: ${problem}\n`);
process.exitCode = 1;
