// From packages/telemetry/README.md, which explains the program.
import { consoleLogger, createLogger, MemoryEventRecorder, MetricsRegistry } from '@node-agent/telemetry';

const logger = await createLogger({ write: (line) => console.log(line.trimEnd()) });
logger.child({ component: 'pleg' }).info({ podUid: 'u1', token: 'not shown' }, 'Pod changed');

consoleLogger().warn({ podUid: 'u1' }, 'Pod is slow'); // warn  Pod is slow podUid=u1

const metrics = new MetricsRegistry();
const relists = metrics.counter({ name: 'kubelet_pleg_relists_total', help: 'Relists.', labels: ['result'] });
relists.inc({ result: 'ok' });
console.log(metrics.text());

const events = new MemoryEventRecorder();
const pod = { kind: 'Pod', namespace: 'default', name: 'web', uid: 'u1' };
events.event(pod, 'Normal', 'Started', 'Container started');
console.log(events.eventsOf(pod));
