import { findContainerd } from '@node-agent/tools-containerd';
import { nodeSuite } from './node-suite.ts';

nodeSuite('the installed containerd', await findContainerd(), '10.199.32.0/24');
