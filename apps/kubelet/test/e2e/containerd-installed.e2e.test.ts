import { findContainerd } from '@node-agent/tools-containerd';
import { hostileSuite } from './hostile-suite.ts';
import { nodeSuite } from './node-suite.ts';

const found = await findContainerd();
nodeSuite('the installed containerd', found, '10.199.32.0/24');
hostileSuite('the installed containerd', found, '10.199.36.0/24');
