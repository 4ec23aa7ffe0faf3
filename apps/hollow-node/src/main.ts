#!/usr/bin/env -S node --max-semi-space-size=16 --heap-growing-percent=25 --max-old-space-size=16384
// V8 flags for a process of many nodes. Without them, on a machine with 24 GiB:
// - V8's young generation grows to 128 MiB within the first pods. With 16 MiB for each half, the CPU time is the same.
// - V8 lets the old generation grow to a multiple of its live objects before it collects garbage.
// - The old generation may take at most 4 GiB, whatever memory the machine has.
import { setMaxListeners } from 'node:events';
import { nodeProblem } from '@node-agent/async/node-version';

const problem = nodeProblem(process.versions.node);
if (problem === undefined) {
  // Imported after the version check: on an old Node.js the import would fail with an incomprehensible error.
  const { runHollowNode } = await import('./command.ts');
  const controller = new AbortController();
  // Allows any number of listeners: every node adds some to the signal, and Node.js would warn of a leak.
  setMaxListeners(0, controller.signal);
  const end = (name: NodeJS.Signals): void => {
    // A second signal ends the process at once.
    if (controller.signal.aborted) process.exit(1);
    controller.abort(new Error(`ended by ${name}`));
  };
  process.on('SIGINT', end);
  process.on('SIGTERM', end);
  const surroundings = {
    environment: process.env,
    write: (text: string) => void process.stdout.write(text),
    writeError: (text: string) => void process.stderr.write(text),
  };
  // The process exits without waiting for the nodes' last timers, because no state of the nodes needs to be saved.
  process.exit(await runHollowNode(process.argv.slice(2), surroundings, controller.signal));
} else {
  process.stderr.write(`hollow-node: ${problem}\n`);
  process.exitCode = 1;
}
