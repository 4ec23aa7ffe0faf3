import type { Container, Lifecycle, LifecycleHandler, PodSpec, Probe } from '../api.ts';
import { forbidden, invalid, required, unsupported } from '../field-error.ts';
import { httpHeaderNameProblem } from '../names.ts';
import { validatePortReference } from './ports.ts';
import { named, notNegative, type Problems } from './rules.ts';
import { STOP_SIGNALS } from './stop-signals.ts';

type Handler = Pick<Probe, 'exec' | 'grpc' | 'httpGet' | 'tcpSocket'> & Pick<LifecycleHandler, 'sleep'>;
const HANDLERS = ['exec', 'httpGet', 'tcpSocket', 'grpc', 'sleep'] as const;

/** Validates a container's probes and hooks. */
export function* validateProbes(container: Container, spec: PodSpec, path: string): Problems {
  const { lifecycle, livenessProbe, readinessProbe, startupProbe } = container;
  if (lifecycle) yield* validateLifecycle(lifecycle, spec, `${path}.lifecycle`);
  for (const [name, probe] of Object.entries({ livenessProbe, readinessProbe, startupProbe })) {
    if (!probe) continue;
    const at = `${path}.${name}`;
    yield* validateProbe(probe, at);
    if (name === 'readinessProbe') {
      if (probe.terminationGracePeriodSeconds !== undefined) {
        const detail = 'must not be set for readinessProbes';
        yield invalid(`${at}.terminationGracePeriodSeconds`, probe.terminationGracePeriodSeconds, detail);
      }
    } else if ((probe.successThreshold ?? 1) !== 1) {
      yield invalid(`${at}.successThreshold`, probe.successThreshold, 'must be 1');
    }
  }
}

/** Forbids probes and hooks for init containers other than sidecars, because only sidecars keep running. */
export function* forbidProbes(container: Container, path: string): Problems {
  for (const field of ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe'] as const) {
    if (container[field]) {
      yield forbidden(`${path}.${field}`, 'may not be set for init containers without restartPolicy=Always');
    }
  }
}

function* validateProbe(probe: Probe, path: string): Problems {
  yield* validateHandler(probe, undefined, path);
  const { failureThreshold, initialDelaySeconds, periodSeconds, successThreshold, timeoutSeconds } = probe;
  const numbers = { initialDelaySeconds, timeoutSeconds, periodSeconds, successThreshold, failureThreshold };
  for (const [name, value] of Object.entries(numbers)) yield* notNegative(`${path}.${name}`, value);
  const grace = probe.terminationGracePeriodSeconds;
  if (grace !== undefined && grace <= 0) {
    yield invalid(`${path}.terminationGracePeriodSeconds`, grace, 'must be greater than 0');
  }
}

function* validateLifecycle(lifecycle: Lifecycle, spec: PodSpec, path: string): Problems {
  const grace = spec.terminationGracePeriodSeconds;
  if (lifecycle.postStart) yield* validateHandler(lifecycle.postStart, grace, `${path}.postStart`);
  if (lifecycle.preStop) yield* validateHandler(lifecycle.preStop, grace, `${path}.preStop`);
  if (lifecycle.stopSignal === undefined) return;
  const at = `${path}.stopSignal`;
  if (!spec.os) yield forbidden(at, 'may not be set for containers with empty `spec.os.name`');
  else if (spec.os.name === 'linux' && !STOP_SIGNALS.includes(lifecycle.stopSignal)) {
    yield unsupported(at, lifecycle.stopSignal, STOP_SIGNALS);
  }
}

function* validateHandler(handler: Handler, graceSeconds: number | undefined, path: string): Problems {
  const [first, ...others] = HANDLERS.filter((kind) => handler[kind]);
  if (first === undefined) yield required(path, 'must specify a handler type');
  for (const kind of others) yield forbidden(`${path}.${kind}`, 'may not specify more than 1 handler type');
  const at = `${path}.${first}`;
  if (first === 'exec' && (handler.exec?.command ?? []).length === 0) yield required(`${at}.command`);
  if (first === 'httpGet' && handler.httpGet) yield* validateHttpGet(handler.httpGet, at);
  if (first === 'tcpSocket') yield* validatePortReference(handler.tcpSocket?.port, `${at}.port`);
  if (first === 'grpc') yield* validatePortReference(handler.grpc?.port, `${at}.port`);
  const seconds = handler.sleep?.seconds ?? 0;
  if (first === 'sleep' && graceSeconds !== undefined && (seconds < 0 || seconds > graceSeconds)) {
    const detail = `must be non-negative and less than terminationGracePeriodSeconds (${graceSeconds})`;
    yield invalid(at, seconds, detail);
  }
}

function* validateHttpGet(get: NonNullable<Probe['httpGet']>, path: string): Problems {
  if (!get.path) yield required(`${path}.path`);
  yield* validatePortReference(get.port, `${path}.port`);
  if (get.scheme !== 'HTTP' && get.scheme !== 'HTTPS')
    yield unsupported(`${path}.scheme`, get.scheme, ['HTTP', 'HTTPS']);
  for (const header of get.httpHeaders ?? []) yield* named(`${path}.httpHeaders`, header.name, httpHeaderNameProblem);
}
