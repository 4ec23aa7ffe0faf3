import { fileURLToPath } from 'node:url';
import { runStandalone } from './run.ts';
import { endingSignals } from './signals.ts';

const kubelet = fileURLToPath(new URL('../../../apps/kubelet/dist/main.js', import.meta.url));
const exitCode = await runStandalone(process.argv.slice(2), {
  output: process.stdout,
  kubelet: { file: process.execPath, args: [kubelet] },
  ...endingSignals(),
});
// The fake runtime's containers may be running on: their timers end with the process.
process.exit(exitCode);
