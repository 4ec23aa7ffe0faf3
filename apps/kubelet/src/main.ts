#!/usr/bin/env -S node --optimize-for-size --no-maglev --no-turbofan
import { nodeProblem } from './node-version.ts';

const problem = nodeProblem(process.versions.node);
if (problem === undefined) {
  // Only now: an old Node.js would fall over what is in there, with words that help nobody.
  const { runKubelet } = await import('./command.ts');
  process.exitCode = await runKubelet(process.argv.slice(2));
} else {
  process.stderr.write(`kubelet: ${problem}\n`);
  process.exitCode = 1;
}
