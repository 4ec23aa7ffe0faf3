import {
  ContainerEventType,
  type Init,
  type PodSandbox,
  type PodSandboxFilter,
  PodSandboxState,
} from '@node-agent/cri-client';
import { removeContainer, stopContainer } from './container-life.ts';
import { failure } from './failure.ts';
import { batches, matchesLabels } from './filters.ts';
import { toPodSandbox, toPodSandboxStatus } from './messages.ts';
import { findById, newId, sandboxName } from './names.ts';
import type { Call, Handlers } from './rpcs.ts';
import { containersIn, type RuntimeState, type SandboxRecord, sandboxOf, usesHostNetwork } from './state.ts';

type SandboxHandlers = Pick<
  Handlers,
  | 'runPodSandbox'
  | 'stopPodSandbox'
  | 'removePodSandbox'
  | 'podSandboxStatus'
  | 'listPodSandbox'
  | 'streamPodSandboxes'
  | 'updatePodSandboxResources'
>;

/** The image of every sandbox. */
export const SANDBOX_IMAGE = 'registry.k8s.io/pause:3.10';

/** Returns the handlers of the sandbox RPCs, which follow containerd's rules. */
export function sandboxRpcs(state: RuntimeState): SandboxHandlers {
  return {
    async runPodSandbox({ config, runtimeHandler }, call) {
      const metadata = config?.metadata;
      if (config === null || metadata === null || metadata === undefined) {
        throw failure('UNKNOWN', 'sandbox config must include metadata');
      }
      const id = newId(state.random);
      const name = sandboxName(metadata);
      reserve(state.sandboxNames, name, id, 'sandbox');
      let ips: readonly string[] = [];
      try {
        if (!state.runtimeHandlers.includes(runtimeHandler)) {
          const quoted = JSON.stringify(runtimeHandler);
          throw failure(
            'UNKNOWN',
            `unable to get OCI runtime for sandbox "${id}": no runtime for ${quoted} is configured`,
          );
        }
        if (usesHostNetwork(config) && config.hostname !== '') {
          throw failure(
            'UNKNOWN',
            'failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to set hostname without a private UTS namespace',
          );
        }
        if (!usesHostNetwork(config)) ips = setUpNetwork(state, id);
        await call.sleep(state.latencies.runPodSandboxMs);
      } catch (error) {
        state.sandboxNames.delete(name);
        releaseIps(state, ips);
        throw error;
      }
      const createdAtNs = state.stampNs();
      state.sandboxes.set(id, {
        id,
        name,
        metadata,
        config,
        runtimeHandler,
        createdAtNs,
        ips,
        ready: true,
        ports: new Map(),
        overhead: null,
        resources: null,
      });
      state.emit(ContainerEventType.CONTAINER_CREATED_EVENT, id, id);
      state.emit(ContainerEventType.CONTAINER_STARTED_EVENT, id, id);
      return { podSandboxId: id };
    },

    async stopPodSandbox({ podSandboxId }, call) {
      const sandbox = findById(state.sandboxes, podSandboxId);
      if (sandbox !== undefined) await stopSandbox(state, sandbox, call);
      return {};
    },

    async removePodSandbox({ podSandboxId }, call) {
      const sandbox = findById(state.sandboxes, podSandboxId);
      if (sandbox === undefined) return {};
      await stopSandbox(state, sandbox, call);
      for (const container of containersIn(state, sandbox.id)) await removeContainer(state, container, call);
      await call.sleep(state.latencies.removePodSandboxMs);
      if (!state.sandboxes.has(sandbox.id)) return {};
      state.emit(ContainerEventType.CONTAINER_DELETED_EVENT, sandbox.id, sandbox.id);
      state.sandboxes.delete(sandbox.id);
      state.sandboxNames.delete(sandbox.name);
      return {};
    },

    async podSandboxStatus({ podSandboxId, verbose }) {
      const sandbox = sandboxOf(state, podSandboxId, 'an error occurred when try to find sandbox');
      const info = {
        image: SANDBOX_IMAGE,
        runtimeHandler: sandbox.runtimeHandler,
        netNamespaceClosed: !usesHostNetwork(sandbox.config) && sandbox.ips.length === 0,
        config: sandbox.config,
        overhead: sandbox.overhead,
        resources: sandbox.resources,
      };
      return { status: toPodSandboxStatus(sandbox), info: verbose ? { info: JSON.stringify(info) } : {} };
    },

    async listPodSandbox({ filter }) {
      return { items: listSandboxes(state, filter) };
    },

    async *streamPodSandboxes({ filter }) {
      for (const podSandboxes of batches(listSandboxes(state, filter), state.streamBatchSize)) yield { podSandboxes };
    },

    async updatePodSandboxResources({ podSandboxId, overhead, resources }) {
      const sandbox = sandboxOf(state, podSandboxId, 'failed to find sandbox');
      sandbox.overhead = overhead;
      sandbox.resources = resources;
      return {};
    },
  };
}

/**
 * Reserves a name.
 * @throws UNKNOWN with containerd's message if another sandbox or container holds the name
 */
export function reserve(names: Map<string, string>, name: string, id: string, kind: 'sandbox' | 'container'): void {
  const holder = names.get(name);
  if (holder === undefined) {
    names.set(name, id);
    return;
  }
  const hint = kind === 'container' ? '; check if another CreateContainer request is in progress' : '';
  throw failure(
    'UNKNOWN',
    `failed to reserve ${kind} name "${name}"${hint}: name "${name}" is reserved for "${holder}"`,
  );
}

/** Records that a sandbox's first process has died or was stopped. */
export function sandboxStopped(state: RuntimeState, sandbox: SandboxRecord): void {
  if (!sandbox.ready) return;
  sandbox.ready = false;
  state.emit(ContainerEventType.CONTAINER_STOPPED_EVENT, sandbox.id, sandbox.id);
}

async function stopSandbox(state: RuntimeState, sandbox: SandboxRecord, call: Call): Promise<void> {
  for (const container of containersIn(state, sandbox.id)) await stopContainer(state, container, 0, call);
  if (!sandbox.ready && sandbox.ips.length === 0) return;
  await call.sleep(state.latencies.stopPodSandboxMs);
  sandboxStopped(state, sandbox);
  releaseIps(state, sandbox.ips);
  sandbox.ips = [];
}

function setUpNetwork(state: RuntimeState, sandboxId: string): readonly string[] {
  if (state.conditions.get('NetworkReady')?.status === false) {
    throw failure('UNKNOWN', `failed to setup network for sandbox "${sandboxId}": cni plugin not initialized`);
  }
  const ips: string[] = [];
  for (const pool of state.ipPools) {
    const ip = pool.allocate();
    if (ip === undefined) {
      releaseIps(state, ips);
      throw failure(
        'UNKNOWN',
        `failed to setup network for sandbox "${sandboxId}": no IP addresses available in range set`,
      );
    }
    ips.push(ip);
  }
  return ips;
}

function releaseIps(state: RuntimeState, ips: readonly string[]): void {
  for (const [index, ip] of ips.entries()) state.ipPools[index]?.release(ip);
}

function listSandboxes(state: RuntimeState, filter: PodSandboxFilter | null): Init<PodSandbox>[] {
  const id = filter?.id ? (findById(state.sandboxes, filter.id)?.id ?? filter.id) : '';
  return [...state.sandboxes.values()]
    .filter(
      (sandbox) =>
        (id === '' || id === sandbox.id) &&
        (!filter?.state || (filter.state.state === PodSandboxState.SANDBOX_READY) === sandbox.ready) &&
        matchesLabels(filter?.labelSelector ?? {}, sandbox.config.labels),
    )
    .map(toPodSandbox);
}
