import { chmodSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { runStandalone } from './run.ts';
import { endingSignals } from './signals.ts';

const kubelet = fileURLToPath(new URL('../../../apps/kubelet/dist/main.js', import.meta.url));
// The file is executed directly, as after an installation: its first line selects the Node.js on PATH and sets the
// flags that keep memory use small.
chmodSync(kubelet, 0o755);
const signals = endingSignals();
const exitCode = await runStandalone(process.argv.slice(2), {
  output: process.stdout,
  kubelet: { file: kubelet, args: [] },
  ...signals,
});
// The process exits explicitly, because timers of the fake runtime's containers would keep it alive.
process.exit(signals.hasFailed() ? 1 : exitCode);
