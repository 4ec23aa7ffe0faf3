// Some of upstream's own specs against the kubelet that was built: where their programs are on the machine already, for building them
// takes ten minutes, and where it can be done as root. Elsewhere it is skipped, and says why.
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { root } from '../bootstrap/toolchain.mjs';

const SKIPPED = 77;
if (process.platform !== 'linux' || process.getuid() !== 0) {
  console.log('skipped: a node is run as root on Linux');
  process.exit(SKIPPED);
}
const program = path.join(root, 'tools/conformance/src/main.ts');
const flags = ['--conditions=@node-agent/source', '--disable-warning=ExperimentalWarning'];
const { status, error } = spawnSync('node', [...flags, program, '--selection', 'slice', '--there'], {
  stdio: 'inherit',
});
if (error) throw error;
process.exit(status ?? 1);
