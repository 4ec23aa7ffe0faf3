// Runs a selection of upstream's specs against the built kubelet, if their programs are already installed (building
// them takes ten minutes) and this process runs as root. Otherwise the step is skipped with a reason.
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { root } from '../bootstrap/toolchain.mjs';

const SKIPPED = 77;
if (process.platform !== 'linux' || process.getuid() !== 0) {
  console.log('skipped: must run as root on Linux');
  process.exit(SKIPPED);
}
const program = path.join(root, 'tools/conformance/src/main.ts');
const flags = ['--conditions=@node-agent/source', '--disable-warning=ExperimentalWarning'];
const { status, error } = spawnSync('node', [...flags, program, '--selection', 'slice', '--there'], {
  stdio: 'inherit',
});
if (error) throw error;
process.exit(status ?? 1);
