import { findOrBuildContainerd24 } from '@node-agent/tools-containerd';
import { probesSuite } from './probes-suite.ts';

const found = await findOrBuildContainerd24((text) => process.stderr.write(`${text}\n`));
probesSuite('containerd 2.4', found, '10.199.44.0/24');
