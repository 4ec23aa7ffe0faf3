// From packages/contracts/README.md, which explains the program.
import type { PodLifecycleEvent } from '@node-agent/contracts';

const event: PodLifecycleEvent = { podUid: '1', type: 'ContainerDied', containerId: 'abc' };
console.log(`pod ${event.podUid}: ${event.type}`);
