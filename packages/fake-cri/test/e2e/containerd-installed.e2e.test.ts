import { findContainerd } from '@node-agent/tools-containerd';
import { examineContainerd } from './examine-containerd.ts';

await examineContainerd('the installed containerd', await findContainerd(), '10.199.16.0/24');
