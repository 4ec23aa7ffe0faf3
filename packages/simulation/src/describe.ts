import type { Observation } from './observation.ts';
import type { Life } from './world/ledger.ts';

/** Calls that only look; a trace need not have them. */
const LOOKS = new Set([
  'listPodSandbox',
  'listContainers',
  'podSandboxStatus',
  'containerStatus',
  'status',
  'version',
  'imageStatus',
]);

/** One line of a trace; `undefined` where an observation is not worth one. */
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
      return `kubelet ${observation.kubelet} starts`;
    case 'kubeletEnded':
      return `kubelet ${observation.kubelet} is ${observation.how}`;
    case 'kubeletFailed':
      return `kubelet ${observation.kubelet} has fallen over: ${String(observation.error)}`;
    case 'containerStarted':
      return `${name(observation.life)} starts`;
    case 'containerSignalled':
      return `${name(observation.life)} gets SIGTERM`;
    case 'containerEnded':
      return `${name(observation.life)} ends: ${observation.life.end} ${observation.life.exitCode}`;
    case 'call': {
      const { port, name: called, args } = observation.call;
      return port !== 'cri' || LOOKS.has(called) ? undefined : `${called} ${target(args[0])}`;
    }
    case 'probed':
      return `${name(observation.probed.life)} answers ${observation.probed.answer} to its ${observation.probed.kind} probe`;
    case 'hookBegan': {
      const { life, by, fails } = observation.hook;
      return `${name(life)} runs its ${by} hook${fails ? ', which fails' : ''}`;
    }
    case 'preStopBegan':
      return `${name(observation.life)} runs its preStop hook`;
    case 'stepBegan':
      return `${observation.step} ${observation.uid} begins${observation.reason ? `: ${observation.reason}` : ''}`;
    case 'stepEnded':
      return `${observation.step} ${observation.uid} ends ${observation.ok ? 'well' : 'with an error'}${observation.isTerminal ? ', terminal' : ''}`;
    case 'status': {
      const { pod, status, finished } = observation.status;
      return `status ${pod.metadata.uid} ${status.phase}${finished ? ' finished' : ''}`;
    }
    case 'sandboxLost':
      return `sandbox ${observation.id.slice(0, 8)} dies`;
    case 'recordRemoved':
      return `the record of ${observation.id.slice(0, 8)} is removed`;
    case 'podCreated':
      return `pod ${observation.pod.uid} is bound to the node`;
    case 'podDeleted':
      return `pod ${observation.uid} is deleted in the API`;
    case 'podResized':
      return `pod ${observation.uid} asks for ${JSON.stringify(observation.cpu)}`;
    case 'podEndedByNode':
      return `pod ${observation.uid}: ${observation.reason} ${observation.of ?? ''}`;
    case 'podRefused':
      return `pod ${observation.uid} is refused: ${observation.reason}`;
    case 'shutdownSaid':
      return `the machine ${observation.isShuttingDown ? 'shuts down' : 'does not shut down'}`;
    case 'shutdownHeard':
      return `the kubelet hears that the machine ${observation.isShuttingDown ? 'shuts down' : 'does not shut down'}`;
    case 'bus':
      return `the bus ${observation.up ? 'comes' : 'goes'}`;
    case 'lock':
      return `a lock is ${observation.how}: ${observation.held} held`;
    case 'groupRemoved':
      return `the group of pod ${observation.uid} goes`;
    case 'pressure':
      return `the kubelet sees a lack of: ${listed(observation.pressure)}`;
    case 'figures': {
      const short = listed(observation.figures.low);
      return short === '' ? undefined : `the kubelet is told of a lack of: ${short}`;
    }
    case 'apiCured':
      return `the API server is over its ${observation.what}`;
    case 'apiRequest': {
      const { verb, resource, name: object, status } = observation.request;
      const quiet = verb === 'get' || verb === 'watch' || resource === 'leases' || resource.startsWith('nodes');
      return quiet ? undefined : `API: ${verb} ${resource} ${object}: ${status} ${observation.shown?.phase ?? ''}`;
    }
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

/** Of the disks of the node: other mounts are of no interest. */
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

/** What a request is about. */
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
