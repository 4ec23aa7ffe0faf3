import { findOrBuildContainerd24 } from '@node-agent/tools-containerd';
import { hostileSuite } from './hostile-suite.ts';
import { imageGcSuite } from './image-gc-suite.ts';
import { nodeSuite } from './node-suite.ts';

const found = await findOrBuildContainerd24((text) => process.stderr.write(`${text}\n`));
nodeSuite('containerd 2.4', found, '10.199.40.0/24');
hostileSuite('containerd 2.4', found, '10.199.44.0/24');
imageGcSuite('containerd 2.4', found, '10.199.52.0/24');
