import { checkComponents, sleep } from '@node-agent/async';
import { goQuoteAll } from '@node-agent/pod-net';
import { type Container, formatPod, type LifecycleHandler, type Pod } from '@node-agent/pod-spec';
import { type Counter, errorText, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import type { HookTarget, LifecycleHooksComponents } from './components.ts';
import { LifecycleHookError } from './errors.ts';
import { httpHook } from './http-hook.ts';

/** Maximum size of a command's output in a message. */
const MAX_OUTPUT_BYTES = 10 * 1024;

/**
 * Runs the lifecycle hooks of containers with their exec, HTTP or sleep handler (`pkg/kubelet/lifecycle`). The caller
 * sets the time limit and handles failures: a hook ends when its signal is aborted, whatever its target does.
 */
export class LifecycleHooks {
  readonly #components: WithDefaults<LifecycleHooksComponents>;
  readonly #fallbacks: Counter;
  readonly #shortSleeps: Counter;

  constructor(given: LifecycleHooksComponents) {
    checkComponents('LifecycleHooks', given, { exec: 'function', podIps: 'function' });
    const components = withDefaults(given);
    this.#components = components;
    this.#fallbacks = components.metrics.counter({
      name: 'kubelet_lifecycle_handler_http_fallbacks_total',
      help: 'The number of times lifecycle handlers successfully fell back to http from https.',
    });
    this.#shortSleeps = components.metrics.counter({
      name: 'kubelet_sleep_action_terminated_early_total',
      help: 'The number of times lifecycle sleep handler got terminated before it finishes',
    });
  }

  /**
   * Runs a postStart hook.
   * @throws LifecycleHookError if the hook failed
   * @throws the signal's reason
   */
  async postStart(
    pod: Pod,
    container: Pick<Container, 'name' | 'ports'>,
    containerId: string,
    handler: LifecycleHandler,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#run({ pod, container, containerId, handler }, signal);
  }

  /** Runs a preStop hook, like {@link postStart}. The caller aborts `signal` once the container has stopped. */
  async preStop(
    pod: Pod,
    container: Pick<Container, 'name' | 'ports'>,
    containerId: string,
    handler: LifecycleHandler,
    _gracePeriodMs: number,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#run({ pod, container, containerId, handler }, signal);
  }

  async #run(target: HookTarget, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { handler } = target;
    if (handler.exec != null) await this.#exec(target, handler.exec.command ?? [], signal);
    else if (handler.httpGet != null) await this.#http(target, handler.httpGet, signal);
    else if (handler.sleep != null) await this.#sleep(target, handler.sleep.seconds, signal);
    // `tcpSocket` exists in the API only for backward compatibility, and no kubelet has ever run it.
    else throw new LifecycleHookError('Invalid', `Cannot run handler: invalid handler: ${shown(handler)}`);
  }

  async #exec(target: HookTarget, command: readonly string[], signal: AbortSignal): Promise<void> {
    /** The output is decoded as latin1, so that each character is one byte. */
    let output = '';
    let fault: string | undefined;
    let cause: unknown;
    try {
      const { exitCode, stdout, stderr } = await this.#components.exec(target.containerId, command, 0, signal);
      output = Buffer.concat([stdout, stderr]).toString('latin1', 0, MAX_OUTPUT_BYTES);
      if (exitCode === 0) return;
      fault = `command '${command.join(' ')}' exited with ${exitCode}: ${text(stderr)}`;
    } catch (error) {
      signal.throwIfAborted();
      cause = error;
      fault = errorText(error);
    }
    const words = `Exec lifecycle hook ([${command.join(' ')}]) ${about(target)} - error: ${fault}, message: ${goQuoteAll(output)}`;
    throw new LifecycleHookError('Failed', words, { cause });
  }

  async #http(
    target: HookTarget,
    action: NonNullable<LifecycleHandler['httpGet']>,
    signal: AbortSignal,
  ): Promise<void> {
    let fault: string | undefined;
    let cause: unknown;
    try {
      fault = await httpHook(action, target, this.#components, this.#fallbacks, signal);
      if (fault === undefined) return;
    } catch (error) {
      signal.throwIfAborted();
      cause = error;
      fault = errorText(error);
    }
    const words = `HTTP lifecycle hook (${action.path ?? ''}) ${about(target)} - error: ${fault}`;
    throw new LifecycleHookError('Failed', words, { cause });
  }

  async #sleep(target: HookTarget, seconds: number, signal: AbortSignal): Promise<void> {
    if (seconds <= 0) return;
    try {
      await sleep(this.#components.clock, seconds * 1000, signal);
    } catch (cause) {
      this.#shortSleeps.inc({});
      const words = `Sleep lifecycle hook (${seconds}) ${about(target)} - error: container terminated before sleep hook finished`;
      throw new LifecycleHookError('Ended', words, { cause });
    }
  }
}

function about({ pod, container }: HookTarget): string {
  return `for Container ${JSON.stringify(container.name)} in Pod ${JSON.stringify(formatPod(pod))} failed`;
}

/** Formats a handler without a runnable action as Go prints it. */
function shown({ tcpSocket }: LifecycleHandler): string {
  if (tcpSocket == null) return '&LifecycleHandler{Exec:nil,HTTPGet:nil,TCPSocket:nil,Sleep:nil,}';
  const { port, host = '' } = tcpSocket;
  const portShown = typeof port === 'number' ? `{0 ${port} }` : `{1 0 ${port}}`;
  return `&LifecycleHandler{Exec:nil,HTTPGet:nil,TCPSocket:&TCPSocketAction{Port:${portShown},Host:${host},},Sleep:nil,}`;
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes.subarray(0, MAX_OUTPUT_BYTES)).toString();
}
