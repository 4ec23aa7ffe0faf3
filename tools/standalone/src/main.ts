import { chmodSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { runStandalone } from './run.ts';
import { endingSignals } from './signals.ts';

const kubelet = fileURLToPath(new URL('../../../apps/kubelet/dist/main.js', import.meta.url));
// Its first line names the Node.js on PATH and the options that keep it small, as for whoever installs it.
chmodSync(kubelet, 0o755);
const signals = endingSignals();
const exitCode = await runStandalone(process.argv.slice(2), {
  output: process.stdout,
  kubelet: { file: kubelet, args: [] },
  ...signals,
});
// The fake runtime's containers may be running on: their timers end with the process.
process.exit(signals.hasFailed() ? 1 : exitCode);
