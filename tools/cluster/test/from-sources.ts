// Runs the command with the kubelet's sources instead of its build, for tests.
import { fileURLToPath } from 'node:url';
import { runCommand } from '../src/command.ts';

const kubelet = fileURLToPath(new URL('../../../apps/kubelet/src/main.ts', import.meta.url));
process.exit(
  await runCommand({
    args: process.argv.slice(2),
    program: fileURLToPath(import.meta.url),
    kubelet: [process.execPath, '--conditions=@node-agent/source', '--disable-warning=ExperimentalWarning', kubelet],
  }),
);
