import type { Clock } from '@node-agent/async';
import type { Behaviour, ExecResult, ProcessContext, Program, ScriptedContainer } from '@node-agent/fake-cri';
import { SIMULATED_COMMAND } from '../scenario/manifest.ts';
import type { ContainerPlan } from '../scenario/plans.ts';

const SIGTERM = 15;
const SIGTERM_EXIT_CODE = 143;

/** How a container's process ended. */
export type LifeEnd =
  /** The process exited on its own. */
  | 'exited'
  /** The process exited because of SIGTERM. */
  | 'terminated'
  /** The runtime killed the process with SIGKILL. */
  | 'killed'
  /** A fault of the simulation killed the process. */
  | 'lost';

/** One run of a container's process, recorded independently of what the runtime or the kubelet reports. */
export interface Life {
  readonly id: string;
  readonly podUid: string;
  readonly podName: string;
  readonly name: string;
  readonly attempt: number;
  readonly plan: ContainerPlan;
  readonly sandboxId: string;
  readonly startedAtMs: number;
  /** The container's devices according to its environment, by the name of the variable. */
  readonly devices: Readonly<Record<string, readonly string[]>>;
  /** CPUs to which the container was restricted at its creation, in the kernel's notation; empty if unrestricted. */
  readonly cpus: string;
  /**
   * NUMA nodes to which the container's memory was restricted at its creation, in the kernel's notation; empty if
   * unrestricted.
   */
  readonly memoryNodes: string;
  /** CDI names of the container's devices. */
  readonly claimed: readonly string[];
  termAtMs: number | undefined;
  endedAtMs: number | undefined;
  end: LifeEnd | undefined;
  exitCode: number | undefined;
  /** Whether the OOM killer killed one of the container's processes. */
  oomKilled: boolean;
}

/** Events in the run of a container's process. */
export type LifeEvent = 'containerStarted' | 'containerSignalled' | 'containerEnded';

/** Dependencies of the ledger. */
export interface LedgerComponents {
  readonly clock: Clock;
  /** Returns the sandbox of a container that has just started. */
  readonly sandboxOf: (containerId: string) => string;
  /**
   * Returns the result of a command that is run in a container, or `undefined` if the container has no such command.
   */
  readonly exec: (containerId: string, command: readonly string[]) => ExecResult | undefined;
  readonly tell: (kind: LifeEvent, life: Life) => void;
}

/** Records all processes of all containers, from inside the processes. */
export class Ledger {
  readonly #components: LedgerComponents;
  readonly #live = new Map<string, Life>();
  /** Listeners for the end of a container, by container ID. */
  readonly #listeners = new Map<string, Set<() => void>>();
  readonly #lost = new Map<string, { readonly exitCode: number; readonly oomKilled: boolean }>();

  constructor(components: LedgerComponents) {
    this.#components = components;
  }

  /** The running processes, in order of their starts. */
  get live(): readonly Life[] {
    return [...this.#live.values()];
  }

  /** Records that a fault is about to kill a container. */
  markLost(containerId: string, exitCode: number, oomKilled = false): void {
    this.#lost.set(containerId, { exitCode, oomKilled });
  }

  /**
   * Calls `listener` when a running container has ended.
   * @returns a function that removes the listener
   */
  onEnd(containerId: string, listener: () => void): () => void {
    const listeners = this.#listeners.get(containerId) ?? new Set();
    this.#listeners.set(containerId, listeners.add(listener));
    return () => listeners.delete(listener);
  }

  /** Returns the behaviour of a container, which follows its plan and reports to this ledger. */
  behaviour(container: ScriptedContainer): Behaviour | undefined {
    const [word, json] = container.command;
    if (word !== SIMULATED_COMMAND || json === undefined) return undefined;
    const plan = JSON.parse(json) as ContainerPlan;
    return {
      startDelayMs: plan.startDelayMs ?? 0,
      program: this.#program(container, plan),
      exec: (given) => this.#components.exec(container.id, given),
    };
  }

  #program(container: ScriptedContainer, plan: ContainerPlan): Program {
    const { clock, sandboxOf, tell } = this.#components;
    return async (process) => {
      const { metadata } = container.sandboxConfig;
      const life: Life = {
        id: container.id,
        podUid: metadata?.uid ?? '',
        podName: metadata?.name ?? '',
        name: container.name,
        attempt: container.attempt,
        plan,
        sandboxId: sandboxOf(container.id),
        startedAtMs: clock.monotonic(),
        devices: devicesIn(container),
        claimed: container.config.CDIDevices.map(({ name }) => name),
        cpus: container.config.linux?.resources?.cpusetCpus ?? '',
        memoryNodes: container.config.linux?.resources?.cpusetMems ?? '',
        termAtMs: undefined,
        endedAtMs: undefined,
        end: undefined,
        exitCode: undefined,
        oomKilled: false,
      };
      this.#live.set(life.id, life);
      tell('containerStarted', life);
      try {
        const { end, exitCode } = await run(process, plan, container.attempt, () => {
          life.termAtMs = clock.monotonic();
          tell('containerSignalled', life);
        });
        this.#ended(life, end, exitCode);
        return exitCode;
      } catch (killed) {
        const lost = this.#lost.get(life.id);
        life.oomKilled = lost?.oomKilled ?? false;
        this.#ended(life, lost === undefined ? 'killed' : 'lost', lost?.exitCode ?? 137);
        throw killed;
      }
    };
  }

  #ended(life: Life, end: LifeEnd, exitCode: number): void {
    life.end = end;
    life.exitCode = exitCode;
    life.endedAtMs = this.#components.clock.monotonic();
    this.#live.delete(life.id);
    for (const listener of this.#listeners.get(life.id) ?? []) listener();
    this.#listeners.delete(life.id);
    this.#components.tell('containerEnded', life);
  }
}

function devicesIn({ config }: ScriptedContainer): Life['devices'] {
  const given = config.envs.filter(({ key }) => key.startsWith('DEVICES_'));
  return Object.fromEntries(given.map(({ key, value }) => [key, Buffer.from(value).toString().split(',')]));
}

/**
 * Runs the process of a container according to its plan.
 * @throws if the process is killed
 */
async function run(
  process: ProcessContext,
  plan: ContainerPlan,
  attempt: number,
  onTerm: () => void,
): Promise<{ readonly end: LifeEnd; readonly exitCode: number }> {
  const chosen = plan.runs[Math.min(attempt, plan.runs.length - 1)] ?? {};
  process.setDisposition(SIGTERM, 'handle');
  const byItself = async (): Promise<{ end: LifeEnd; exitCode: number }> => {
    if (chosen.exitAfterMs === undefined) return process.forever();
    await process.sleep(chosen.exitAfterMs);
    return { end: 'exited', exitCode: chosen.exitCode ?? 0 };
  };
  const onSignal = async (): Promise<{ end: LifeEnd; exitCode: number }> => {
    await process.pause();
    onTerm();
    if (plan.ignoreTerm) return process.forever();
    if (plan.stopDelayMs !== undefined) await process.sleep(plan.stopDelayMs);
    return { end: 'terminated', exitCode: plan.termExitCode ?? SIGTERM_EXIT_CODE };
  };
  const outcomes = [byItself(), onSignal()];
  for (const outcome of outcomes) outcome.catch(() => {});
  return Promise.race(outcomes);
}
