import { findOrBuildContainerd24 } from '@node-agent/tools-containerd';
import { nodeSuite } from './node-suite.ts';

const found = await findOrBuildContainerd24((text) => process.stderr.write(`${text}\n`));
nodeSuite('containerd 2.4', found, '10.199.40.0/24');
