import { findContainerd, findOrBuildContainerd24 } from '@node-agent/tools-containerd';
import { statsSuite } from './stats-suite.ts';

statsSuite('the installed containerd', await findContainerd(), '10.199.71.0/24');
const newer = await findOrBuildContainerd24((text) => process.stderr.write(`${text}\n`));
statsSuite('containerd 2.4', newer, '10.199.73.0/24');
