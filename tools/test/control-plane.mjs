// Brings the programs of a real control plane before tests want them, so that they are built at most once, and not by two tests
// side by side. Where that is not possible, the tests that need them are skipped, and say why.
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { root } from '../bootstrap/toolchain.mjs';

const program = path.join(root, 'tools/control-plane/src/main.ts');
const flags = ['--conditions=@node-agent/source', '--disable-warning=ExperimentalWarning'];
const { status, error } = spawnSync('node', [...flags, program, 'programs'], { stdio: 'inherit' });
if (error) throw error;
if (status !== 0) console.log('so tests against a real control plane are skipped');
