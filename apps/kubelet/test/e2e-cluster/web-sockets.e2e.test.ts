import { findContainerd, findOrBuildContainerd24 } from '@node-agent/tools-containerd';
import { webSocketSuite } from './web-socket-suite.ts';

const say = (text: string): void => void process.stderr.write(`${text}\n`);
await webSocketSuite('containerd 2.4', await findOrBuildContainerd24(say), {
  subnet: '10.199.84.0/24',
  endsCommands: true,
});
await webSocketSuite('the installed containerd', await findContainerd(), {
  subnet: '10.199.85.0/24',
  endsCommands: false,
});
