// From packages/userns/README.md, which explains the program.
import { mkdir, mkdtemp } from 'node:fs/promises';
import { nodeFileSystem } from '@node-agent/host';
import { defaultIdRange, UserNamespaces } from '@node-agent/userns';

const podsDirectory = await mkdtemp('/tmp/pods-');
await mkdir(`${podsDirectory}/uid-1`);
const options = { podsDirectory, range: defaultIdRange(), maxPods: 110 };
const before = await new UserNamespaces({ fs: nodeFileSystem }, options).mappings('uid-1');
const after = await new UserNamespaces({ fs: nodeFileSystem }, options).mappings('uid-1');
console.log(before.uids[0]?.hostId === after.uids[0]?.hostId ? 'the same IDs' : 'other IDs');
