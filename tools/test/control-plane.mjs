// Provides the programs of a real control plane before the tests, so that they are built at most once and not by two
// tests concurrently. If they cannot be provided, the tests that need them are skipped with a reason.
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { root } from '../bootstrap/toolchain.mjs';

const program = path.join(root, 'tools/control-plane/src/main.ts');
const flags = ['--conditions=@node-agent/source', '--disable-warning=ExperimentalWarning'];
const { status, error } = spawnSync('node', [...flags, program, 'programs'], { stdio: 'inherit' });
if (error) throw error;
if (status !== 0) console.log('tests with a real control plane are skipped');
