// From packages/node-shutdown/README.md, which explains the program.
import { mkdtemp } from 'node:fs/promises';
import { connect } from 'node:net';
import { nodeFileSystem } from '@node-agent/host';
import { DbusLogind, gracePeriodsOf, NodeShutdownManager, SystemdInhibit } from '@node-agent/node-shutdown';
import { consoleLogger } from '@node-agent/telemetry';

const gracePeriods = gracePeriodsOf({
  shutdownGracePeriodMs: 5_000,
  shutdownGracePeriodCriticalPodsMs: 2_000,
  shutdownGracePeriodByPodPriority: [],
  byPodPriority: true,
});
const manager = new NodeShutdownManager(
  {
    logger: consoleLogger(),
    logind: new DbusLogind({ connect: (path) => connect(path) }, { userId: process.getuid?.() ?? 0 }),
    inhibitor: new SystemdInhibit(),
    fs: nodeFileSystem,
    pods: {
      active: () => [],
      kill: async (pod, { gracePeriodSeconds }) => console.log(`${pod.metadata.name} has ${gracePeriodSeconds} s`),
    },
    volumes: { podVolumesExist: async () => false },
  },
  { nodeRef: { kind: 'Node', name: 'n1' }, gracePeriods, stateDirectory: await mkdtemp('/tmp/shutdown-') },
);
// `systemd-inhibit --list` shows it meanwhile; without logind it says so, and goes on without.
await manager.start(AbortSignal.timeout(2_000));
console.log(manager.admit());
