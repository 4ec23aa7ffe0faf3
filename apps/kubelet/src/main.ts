#!/usr/bin/env -S node --max-semi-space-size=4 --no-maglev --no-turbofan --v8-pool-size=1
import { setFlagsFromString } from 'node:v8';
import { nodeProblem } from '@node-agent/async/node-version';
import { heapFlags } from './heap-size.ts';

// Before anything large is loaded. Among the flags of the first line the heap could not grow later.
for (const flag of heapFlags('small')) setFlagsFromString(flag);

const problem = nodeProblem(process.versions.node);
if (problem === undefined) {
  // Only now: an old Node.js would fall over what is in there, with words that help nobody.
  const { runKubelet } = await import('./command.ts');
  process.exitCode = await runKubelet(process.argv.slice(2));
} else {
  process.stderr.write(`kubelet: ${problem}\n`);
  process.exitCode = 1;
}
