// Runs the program with the kubelet's sources instead of its build, for tests.
import { fileURLToPath } from 'node:url';
import { runStandalone } from '../src/run.ts';
import { endingSignals } from '../src/signals.ts';

const kubelet = fileURLToPath(new URL('../../../apps/kubelet/src/main.ts', import.meta.url));
const signals = endingSignals();
const exitCode = await runStandalone(process.argv.slice(2), {
  output: process.stdout,
  kubelet: { file: process.execPath, args: ['--conditions=@node-agent/source', kubelet] },
  ...signals,
});
process.exit(signals.hasFailed() ? 1 : exitCode);
