import {
  type ContainerConfig,
  ContainerEventType,
  type CreateContainerRequest,
  type CreateContainerResponse,
  type Init,
  type PodSandboxConfig,
  Signal,
} from '@node-agent/cri-client';
import { ContainerFiles } from '../process/container-files.ts';
import { failure } from './failure.ts';
import type { FakeImage } from './image-store.ts';
import { containerName, newId } from './names.ts';
import { updatedResources } from './resources.ts';
import type { Call } from './rpcs.ts';
import { reserve } from './sandbox-rpcs.ts';
import { type ContainerRecord, type RuntimeState, type SandboxRecord, sandboxOf } from './state.ts';

const NAMED_USERS: Readonly<Record<string, number>> = { '': 0, root: 0, daemon: 1, nobody: 65_534 };

/** Handles CreateContainer with containerd's checks, in containerd's order. */
export async function createContainer(
  state: RuntimeState,
  { podSandboxId, config, sandboxConfig }: CreateContainerRequest,
  call: Call,
): Promise<Init<CreateContainerResponse>> {
  const sandbox = sandboxOf(state, podSandboxId, 'failed to find sandbox id');
  if (!sandbox.ready) throw failure('UNKNOWN', `sandbox container "${sandbox.id}" is not running`);
  if (!config?.metadata) throw failure('UNKNOWN', 'container config must include metadata');
  if (!sandboxConfig?.metadata) throw failure('UNKNOWN', 'pod sandbox config must include metadata');
  const id = newId(state.random);
  const name = containerName(config.metadata, sandboxConfig.metadata);
  reserve(state.containerNames, name, id, 'container');
  try {
    const reference = config.image?.image ?? '';
    const image = state.images.find(reference);
    if (image === undefined) throw failure('NOT_FOUND', `failed to resolve image "${reference}": not found`);
    const envs = sharedEnvs(state.lastEnvs, config.envs);
    state.lastEnvs = envs;
    const record = newRecord(state, {
      id,
      name,
      sandbox,
      config: { ...config, envs },
      sandboxConfig,
      imageId: image.id,
      image: image.image,
    });
    await call.sleep(state.latencies.createContainerMs);
    // If the sandbox was removed during the wait, the container is not recorded.
    if (!state.sandboxes.has(sandbox.id)) {
      throw failure('NOT_FOUND', `failed to find sandbox id "${sandbox.id}": not found`);
    }
    state.containers.set(id, { ...record, createdAtNs: state.stampNs() });
  } catch (error) {
    state.containerNames.delete(name);
    throw error;
  }
  state.emit(ContainerEventType.CONTAINER_CREATED_EVENT, id, sandbox.id);
  return { containerId: id };
}

type Envs = ContainerConfig['envs'];

/**
 * Returns the environment with the objects of another container's variables if they are equal: most containers of a
 * fleet have the same variables of services.
 */
function sharedEnvs(other: Envs, envs: Envs): Envs {
  return envs.map((variable, index) => {
    const same = other[index];
    return same?.key === variable.key && Buffer.compare(same.value, variable.value) === 0 ? same : variable;
  });
}

interface NewContainer {
  readonly id: string;
  readonly name: string;
  readonly sandbox: SandboxRecord;
  readonly config: ContainerConfig;
  readonly sandboxConfig: PodSandboxConfig;
  readonly imageId: string;
  readonly image: FakeImage;
}

function newRecord(state: RuntimeState, made: NewContainer): ContainerRecord {
  const { config, sandboxConfig, image } = made;
  const { metadata } = config;
  if (metadata === null) throw failure('UNKNOWN', 'container config must include metadata');
  const security = config.linux?.securityContext;
  const userName = security?.runAsUsername || (security?.runAsUser ? '' : (image.username ?? ''));
  const namedUid = NAMED_USERS[userName];
  if (namedUid === undefined) {
    throw failure(
      'UNKNOWN',
      `failed to generate container "${made.id}" spec: unable to find user ${userName}: no users found`,
    );
  }
  const argv = commandLine(config, image);
  if (argv.length === 0 && image.strict === true) {
    throw failure('UNKNOWN', `failed to generate container "${made.id}" spec: no command specified`);
  }
  return {
    id: made.id,
    name: made.name,
    sandboxId: made.sandbox.id,
    metadata,
    config,
    imageId: made.imageId,
    stopSignal: stopSignalOf(config, image),
    logPath: sandboxConfig.logDirectory && config.logPath ? `${sandboxConfig.logDirectory}/${config.logPath}` : '',
    createdAtNs: 0,
    startedMonotonicMs: 0,
    uid: security?.runAsUser?.value ?? image.uid ?? namedUid,
    gid: security?.runAsGroup?.value ?? 0,
    hostname: sandboxConfig.hostname,
    imageEnv: image.env ?? [],
    argv,
    workingDir: config.workingDir || image.workingDir || '/',
    files: filesOf(state, config, sandboxConfig),
    stopped: Promise.withResolvers<void>(),
    execs: new Set(),
    behaviour: {},
    startedAtNs: 0,
    finishedAtNs: 0,
    exitCode: 0,
    reason: '',
    message: '',
    resources: updatedResources(null, config.linux?.resources ?? null),
    process: undefined,
    console: undefined,
    log: undefined,
    starting: false,
    taskLeaked: false,
    removing: false,
    stopSignalSent: false,
    killSent: false,
    deathReason: '',
  };
}

/** Returns the command line: the container's command replaces the image's entrypoint and default arguments. */
function commandLine(config: ContainerConfig, image: FakeImage): readonly string[] {
  if (config.command.length > 0) return [...config.command, ...config.args];
  return [...(image.entrypoint ?? []), ...(config.args.length > 0 ? config.args : (image.cmd ?? []))];
}

function stopSignalOf(config: ContainerConfig, image: FakeImage): string {
  const named = Object.entries(Signal).find(([, value]) => value === config.stopSignal)?.[0];
  return config.stopSignal !== 0 && named !== undefined ? named : (image.stopSignal ?? 'SIGTERM');
}

function filesOf(state: RuntimeState, config: ContainerConfig, sandbox: PodSandboxConfig): ContainerFiles {
  const { hostname, dnsConfig } = sandbox;
  const initial = (): Readonly<Record<string, string>> => ({
    '/etc/hostname': `${hostname}\n`,
    '/etc/hosts': '127.0.0.1\tlocalhost\n',
    '/etc/resolv.conf': resolvConf(dnsConfig),
  });
  const mounts = config.mounts
    .filter((mount) => mount.hostPath !== '')
    .map((mount) => ({ containerPath: mount.containerPath, hostPath: mount.hostPath, readOnly: mount.readonly }));
  return new ContainerFiles(state.fs, mounts, initial, config.linux?.securityContext?.readonlyRootfs ?? false);
}

function resolvConf(dns: PodSandboxConfig['dnsConfig']): string {
  const { servers = [], searches = [], options = [] } = dns ?? {};
  const lines = [
    ...(searches.length > 0 ? [`search ${searches.join(' ')}`] : []),
    ...servers.map((server) => `nameserver ${server}`),
    ...(options.length > 0 ? [`options ${options.join(' ')}`] : []),
  ];
  return lines.map((line) => `${line}\n`).join('');
}
