import { findOrBuildContainerd24 } from '@node-agent/tools-containerd';
import { hooksSuite } from './hooks-suite.ts';

const found = await findOrBuildContainerd24((text) => process.stderr.write(`${text}\n`));
hooksSuite('containerd 2.4', found, '10.199.48.0/24');
