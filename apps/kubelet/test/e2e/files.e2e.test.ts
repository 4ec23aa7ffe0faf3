import { findOrBuildContainerd24 } from '@node-agent/tools-containerd';
import { filesSuite } from './files-suite.ts';

const found = await findOrBuildContainerd24((text) => process.stderr.write(`${text}\n`));
filesSuite('containerd 2.4', found, '10.199.46.0/24');
