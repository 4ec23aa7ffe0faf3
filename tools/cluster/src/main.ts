import { chmodSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { runCommand } from './command.ts';

const kubelet = fileURLToPath(new URL('../../../apps/kubelet/dist/main.js', import.meta.url));
// The file is executed directly: its first line sets the flags of Node that keep memory use small. Without root, the
// command says what it needs.
if (process.getuid?.() === 0) chmodSync(kubelet, 0o755);
const program = fileURLToPath(import.meta.url);
process.exit(await runCommand({ args: process.argv.slice(2), program, kubelet: [kubelet] }));
