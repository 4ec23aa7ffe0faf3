import { ContainerState } from '@node-agent/cri-client';
import type { OutputStream } from '../process/process.ts';
import { signals } from '../process/signals.ts';
import { spawnExec } from './container-life.ts';
import { failure } from './failure.ts';
import { chooseExecProgram } from './program.ts';
import type { Handlers } from './rpcs.ts';
import { type ContainerRecord, containerOf, containerState, type RuntimeState, sandboxOf, stateName } from './state.ts';
import type { StreamRequest } from './stream-requests.ts';

/** Maximum number of bytes that ExecSync returns of each stream, as in containerd. */
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;

type ExecHandlers = Pick<Handlers, 'execSync' | 'exec' | 'attach' | 'portForward'>;

/** Returns the handlers of the RPCs that run or reach additional processes: ExecSync, Exec, Attach and PortForward. */
export function execRpcs(state: RuntimeState): ExecHandlers {
  return {
    async execSync({ containerId, cmd, timeout }, call) {
      const container = running(state, containerId, 'failed to exec in container: failed to find container in store');
      const program = chooseExecProgram(container, cmd);
      await call.sleep(state.latencies.execMs);
      const output: Record<OutputStream, Uint8Array[]> = { stdout: [], stderr: [] };
      const { process } = spawnExec(state, container, program, {
        tty: false,
        stdin: false,
        sink: async (stream, data) => void output[stream].push(data),
      });
      const timer = new AbortController();
      const kill = (): void => process.signal(signals.SIGKILL ?? 9);
      call.signal.addEventListener('abort', kill, { once: true });
      let timedOut = false;
      if (timeout > 0) {
        call.sleep(timeout * 1000, timer.signal).then(
          () => {
            timedOut = true;
            kill();
          },
          () => {},
        );
      }
      try {
        const exitCode = await process.exited;
        call.signal.throwIfAborted();
        if (timedOut) {
          const details = `failed to exec in container: timeout ${timeout}s exceeded: context deadline exceeded`;
          throw failure('DEADLINE_EXCEEDED', details);
        }
        return { stdout: capped(output.stdout), stderr: capped(output.stderr), exitCode };
      } finally {
        timer.abort();
        call.signal.removeEventListener('abort', kill);
      }
    },

    async exec(request) {
      running(state, request.containerId, 'failed to find container in store');
      checkStreams(request);
      return { url: urlOf(state, { kind: 'exec', request }) };
    },

    async attach(request) {
      running(state, request.containerId, 'failed to find container in store');
      checkStreams(request);
      return { url: urlOf(state, { kind: 'attach', request }) };
    },

    async portForward(request) {
      const sandbox = sandboxOf(state, request.podSandboxId, 'failed to find sandbox');
      if (!sandbox.ready) throw failure('UNKNOWN', `sandbox container "${sandbox.id}" is not running`);
      return { url: urlOf(state, { kind: 'portforward', request }) };
    },
  };
}

function running(state: RuntimeState, id: string, doing: string): ContainerRecord {
  const container = containerOf(state, id, doing);
  const now = containerState(container);
  if (now !== ContainerState.CONTAINER_RUNNING) {
    throw failure('UNKNOWN', `failed to exec in container: container is in ${stateName(now)} state`);
  }
  return container;
}

function checkStreams(streams: { tty: boolean; stdin: boolean; stdout: boolean; stderr: boolean }): void {
  if (streams.tty && streams.stderr) throw failure('INVALID_ARGUMENT', 'tty and stderr cannot both be true');
  if (!streams.stdin && !streams.stdout && !streams.stderr) {
    throw failure('INVALID_ARGUMENT', 'one of stdin, stdout, or stderr must be set');
  }
}

function urlOf(state: RuntimeState, asked: StreamRequest): string {
  return `${state.streamingUrl}/${asked.kind}/${state.streamRequests.insert(asked)}`;
}

function capped(pieces: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(pieces)).subarray(0, MAX_OUTPUT_BYTES);
}
