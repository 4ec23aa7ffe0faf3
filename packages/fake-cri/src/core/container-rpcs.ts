import { type Container, type ContainerFilter, ContainerState, type Init, NamespaceMode } from '@node-agent/cri-client';
import { removeContainer, startProcess, stopContainer } from './container-life.ts';
import { createContainer } from './create-container.ts';
import { failure } from './failure.ts';
import { batches, matchesLabels } from './filters.ts';
import { LogFile } from './log-file.ts';
import { toContainer, toContainerStatus } from './messages.ts';
import { findById } from './names.ts';
import { chooseProgram } from './program.ts';
import { updatedResources } from './resources.ts';
import type { Call, Handlers } from './rpcs.ts';
import { type ContainerRecord, containerOf, containerState, type RuntimeState, sandboxOf, stateName } from './state.ts';

type ContainerHandlers = Pick<
  Handlers,
  | 'createContainer'
  | 'startContainer'
  | 'stopContainer'
  | 'removeContainer'
  | 'listContainers'
  | 'streamContainers'
  | 'containerStatus'
  | 'updateContainerResources'
  | 'reopenContainerLog'
>;

/** Returns the handlers of the container RPCs, which follow containerd's rules. */
export function containerRpcs(state: RuntimeState): ContainerHandlers {
  return {
    createContainer: (request, call) => createContainer(state, request, call),

    async startContainer({ containerId }, call) {
      const doing = 'an error occurred when try to find container';
      const container = containerOf(state, containerId, doing);
      const cannot = `failed to set starting state for container "${container.id}"`;
      const now = containerState(container);
      if (now !== ContainerState.CONTAINER_CREATED) {
        throw failure('UNKNOWN', `${cannot}: container is in ${stateName(now)} state`);
      }
      if (container.removing) {
        throw failure('UNKNOWN', `${cannot}: container is in removing state, can't be started`);
      }
      if (container.starting) throw failure('UNKNOWN', `${cannot}: container is already in starting state`);
      container.starting = true;
      try {
        await start(state, container, call);
      } finally {
        container.starting = false;
      }
      return {};
    },

    async stopContainer({ containerId, timeout }, call) {
      const container = findById(state.containers, containerId);
      if (container !== undefined) await stopContainer(state, container, timeout * 1000, call);
      return {};
    },

    async removeContainer({ containerId }, call) {
      const container = findById(state.containers, containerId);
      if (container !== undefined) await removeContainer(state, container, call);
      return {};
    },

    async listContainers({ filter }) {
      return { containers: listContainers(state, filter) };
    },

    async *streamContainers({ filter }) {
      for (const containers of batches(listContainers(state, filter), state.streamBatchSize)) yield { containers };
    },

    async containerStatus({ containerId, verbose }) {
      const container = containerOf(state, containerId, 'an error occurred when try to find container');
      const info = {
        sandboxID: container.sandboxId,
        pid: container.process?.alive === true ? container.process.pid : 0,
        removing: container.removing,
        config: container.config,
      };
      return { status: toContainerStatus(state, container), info: verbose ? { info: JSON.stringify(info) } : {} };
    },

    async updateContainerResources({ containerId, linux }) {
      const container = containerOf(state, containerId, 'failed to find container');
      container.resources = updatedResources(container.resources, linux);
      return {};
    },

    async reopenContainerLog({ containerId }) {
      const container = containerOf(state, containerId, 'an error occurred when try to find container');
      if (containerState(container) !== ContainerState.CONTAINER_RUNNING) {
        throw failure('UNKNOWN', 'container is not running');
      }
      try {
        await container.log?.open();
      } catch (cause) {
        throw failure('UNKNOWN', `failed to create and open log file: ${text(cause)}`);
      }
      return {};
    },
  };
}

async function start(state: RuntimeState, container: ContainerRecord, call: Call): Promise<void> {
  try {
    const sandbox = sandboxOf(state, container.sandboxId, 'sandbox not found');
    if (!sandbox.ready) throw failure('UNKNOWN', `sandbox container "${sandbox.id}" is not running`);
    checkTarget(state, container);
    const chosen = chooseProgram(state, container, sandbox.config);
    container.behaviour = chosen.behaviour;
    await call.sleep(state.latencies.startContainerMs + (chosen.behaviour.startDelayMs ?? 0));
    if (container.logPath !== '') {
      container.log = new LogFile(state.fs, state.clock, container.logPath);
      try {
        await container.log.open();
      } catch (cause) {
        container.log = undefined;
        throw failure(
          'UNKNOWN',
          `failed to create containerd task: failed to create container loggers: failed to create and open log file: ${text(cause)}`,
        );
      }
    }
    if (chosen.program === undefined) throw failure('UNKNOWN', `failed to create containerd task: ${chosen.refusal}`);
    // The sandbox may have been stopped while the start waited. Stopping a sandbox kills its containers.
    if (!sandbox.ready) throw failure('UNKNOWN', `sandbox container "${sandbox.id}" is not running`);
    startProcess(state, container, chosen.program);
  } catch (error) {
    await container.log?.close();
    // A crash of the runtime leaves the container unchanged. After any other failure of the start, the container counts
    // as exited.
    if (!call.crashed) {
      container.finishedAtNs = state.stampNs();
      container.exitCode = 128;
      container.reason = 'StartError';
      container.message = error instanceof Error && 'details' in error ? String(error.details) : text(error);
      container.taskLeaked = call.signal.aborted && state.leaksBrokenStart();
      container.stopped.resolve();
    }
    throw error;
  }
}

function checkTarget(state: RuntimeState, container: ContainerRecord): void {
  const options = container.config.linux?.securityContext?.namespaceOptions;
  if (options?.pid !== NamespaceMode.TARGET) return;
  const target = findById(state.containers, options.targetId);
  if (target?.sandboxId !== container.sandboxId || containerState(target) !== ContainerState.CONTAINER_RUNNING) {
    throw failure(
      'UNKNOWN',
      `invalid target container: container "${options.targetId}" is not running in this sandbox`,
    );
  }
}

function listContainers(state: RuntimeState, filter: ContainerFilter | null): Init<Container>[] {
  const id = filter?.id ? (findById(state.containers, filter.id)?.id ?? filter.id) : '';
  const sandboxId = filter?.podSandboxId
    ? (findById(state.sandboxes, filter.podSandboxId)?.id ?? filter.podSandboxId)
    : '';
  return [...state.containers.values()]
    .filter(
      (container) =>
        (id === '' || id === container.id) &&
        (sandboxId === '' || sandboxId === container.sandboxId) &&
        (!filter?.state || filter.state.state === containerState(container)) &&
        matchesLabels(filter?.labelSelector ?? {}, container.config.labels),
    )
    .map(toContainer);
}

function text(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
