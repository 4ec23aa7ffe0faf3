import { findOrBuildContainerd24 } from '@node-agent/tools-containerd';
import { examineContainerd } from './examine-containerd.ts';

const found = await findOrBuildContainerd24((text) => process.stderr.write(`${text}\n`));
await examineContainerd('containerd 2.4', found, '10.199.24.0/24');
