import { findOrBuildContainerd24 } from '@node-agent/tools-containerd';
import { devicesSuite } from './devices-suite.ts';

const found = await findOrBuildContainerd24((text) => process.stderr.write(`${text}\n`));
devicesSuite('containerd 2.4', found, '10.199.47.0/24');
