import { findContainerd, findOrBuildContainerd24 } from '@node-agent/tools-containerd';
import { securitySuite } from './security-suite.ts';

const built = await findOrBuildContainerd24((text) => process.stderr.write(`${text}\n`));
securitySuite('the installed containerd', await findContainerd(), '10.199.54.0/24');
securitySuite('containerd 2.4', built, '10.199.55.0/24');
