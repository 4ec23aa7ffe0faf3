import type { Observation } from './observation.ts';
import type { Life } from './world/ledger.ts';

/** Read-only runtime calls, which the trace omits. */
const LOOKS = new Set([
  'listPodSandbox',
  'listContainers',
  'podSandboxStatus',
  'containerStatus',
  'status',
  'version',
  'imageStatus',
]);

/** Formats an observation as a line of the trace. Returns `undefined` if the observation is left out of the trace. */
export function describe(observation: Observation): string | undefined {
  const text = body(observation);
  return text && `${(observation.atMs / 1000).toFixed(3).padStart(8)} s  ${text}`;
}

function body(observation: Observation): string | undefined {
  switch (observation.kind) {
    case 'action': {
      const { atMs: _atMs, do: what, ...rest } = observation.action;
      return `-> ${what} ${JSON.stringify(rest)}`;
    }
    case 'kubeletStarted':
      return `kubelet ${observation.kubelet} started`;
    case 'kubeletEnded':
      return `kubelet ${observation.kubelet} was ${observation.how}`;
    case 'kubeletGaveUp':
      return `kubelet ${observation.kubelet} gave up: ${String(observation.error)}`;
    case 'kubeletFailed':
      return `kubelet ${observation.kubelet} failed: ${String(observation.error)}`;
    case 'containerStarted':
      return `${name(observation.life)} started`;
    case 'containerSignalled':
      return `${name(observation.life)} received SIGTERM`;
    case 'containerEnded':
      return `${name(observation.life)} ended: ${observation.life.end} ${observation.life.exitCode}`;
    case 'call': {
      const { port, name: called, args } = observation.call;
      return port !== 'cri' || LOOKS.has(called) ? undefined : `${called} ${target(args[0])}`;
    }
    case 'probed':
      return `${name(observation.probed.life)} answered ${observation.probed.answer} to its ${observation.probed.kind} probe`;
    case 'hookBegan': {
      const { life, by, fails } = observation.hook;
      return `${name(life)} runs its ${by} hook${fails ? ', which fails' : ''}`;
    }
    case 'preStopBegan':
      return `${name(observation.life)} runs its preStop hook`;
    case 'stepBegan':
      return `${observation.step} ${observation.uid} started${observation.reason ? `: ${observation.reason}` : ''}`;
    case 'stepEnded':
      return `${observation.step} ${observation.uid} ${observation.ok ? 'succeeded' : 'failed'}${observation.isTerminal ? ', terminal' : ''}`;
    case 'status': {
      const { pod, status, finished } = observation.status;
      return `status ${pod.metadata.uid} ${status.phase}${finished ? ' finished' : ''}`;
    }
    case 'sandboxLost':
      return `sandbox ${observation.id.slice(0, 8)} died`;
    case 'recordRemoved':
      return `record of container ${observation.id.slice(0, 8)} was removed`;
    case 'podCreated':
      return `pod ${observation.pod.uid} is bound to the node`;
    case 'podDeleted':
      return `pod ${observation.uid} is deleted in the API`;
    case 'podResized':
      return `pod ${observation.uid} requests ${JSON.stringify(observation.cpu)}`;
    case 'podEndedByNode':
      return `pod ${observation.uid}: ${observation.reason} ${observation.of ?? ''}`;
    case 'podRefused':
      return `pod ${observation.uid} was rejected: ${observation.reason}`;
    case 'shutdownSaid':
      return `logind announced ${observation.isShuttingDown ? 'a shutdown' : 'no shutdown'}`;
    case 'shutdownHeard':
      return `kubelet received the announcement of ${observation.isShuttingDown ? 'a shutdown' : 'no shutdown'}`;
    case 'bus':
      return `system bus ${observation.up ? 'is up' : 'is down'}`;
    case 'lock':
      return `inhibitor lock ${observation.how}: ${observation.held} held`;
    case 'groupRemoved':
      return `cgroup of pod ${observation.uid} is removed`;
    case 'pressure':
      return `kubelet reports pressure: ${listed(observation.pressure)}`;
    case 'figures': {
      const short = listed(observation.figures.low);
      return short === '' ? undefined : `stats show pressure: ${short}`;
    }
    case 'apiCured':
      return `API server recovered from ${observation.what}`;
    case 'apiRequest': {
      const { verb, resource, name: object, status } = observation.request;
      const quiet = verb === 'get' || verb === 'watch' || resource === 'leases' || resource.startsWith('nodes');
      return quiet ? undefined : `API: ${verb} ${resource} ${object}: ${status} ${observation.shown?.phase ?? ''}`;
    }
    case 'csiCall': {
      const { driver, call, volume, path } = observation.call;
      return `${driver}: ${call} ${volume} at ${path}: ${observation.phase} ${observation.code ?? ''}`;
    }
    case 'claimCall':
      return `${observation.call} ${observation.claim}: ${observation.phase}`;
    case 'attachment':
      return `volume ${observation.volume} is ${observation.attached ? 'attached' : 'detached'}`;
    case 'volumesInUse':
      return `API: volumes in use: ${observation.names?.join(', ') ?? 'no node'}`;
    case 'mount':
      return observation.source === undefined ? undefined : mountText(observation.source, observation.target);
    case 'callHangs':
    case 'settled':
    case 'health':
      return undefined;
    case 'end':
      return 'end';
    default:
      return observation.kind;
  }
}

/**
 * Returns the trace text of a mount of a local volume. Returns `undefined` for all other mounts, which are not traced.
 */
function mountText(source: string, target: string): string | undefined {
  return target.includes('local-volume') ? `${source} is mounted at ${target}` : undefined;
}

function listed(short: Readonly<Record<string, boolean>>): string {
  return Object.keys(short)
    .filter((of) => short[of])
    .join(', ');
}

function name({ podUid, name: container, attempt, id }: Life): string {
  return `${podUid}/${container} #${attempt} (${id.slice(0, 8)})`;
}

/** Returns the part of a trace line that names the object of a runtime request: container, sandbox, pod or image. */
function target(request: unknown): string {
  const { containerId, podSandboxId, config, timeout, image } = (request ?? {}) as {
    containerId?: string;
    podSandboxId?: string;
    timeout?: number;
    image?: { image?: string };
    config?: { metadata?: { name?: string; uid?: string; attempt?: number } };
  };
  const metadata = config?.metadata;
  return [
    containerId?.slice(0, 8),
    podSandboxId && `in ${podSandboxId.slice(0, 8)}`,
    metadata && `${metadata.uid ?? metadata.name} #${metadata.attempt ?? 0}`,
    timeout !== undefined && `${timeout} s`,
    image?.image,
  ]
    .filter(Boolean)
    .join(' ');
}
