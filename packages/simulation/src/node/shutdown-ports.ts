import type { AssemblySettings, NodePorts } from '@node-agent/kubelet-assembly';
import { gracePeriodsOf, type Inhibitor, type Logind, type PriorityGracePeriod } from '@node-agent/node-shutdown';
import type { Happening } from '../observation.ts';
import type { NodePlan } from '../scenario/actions.ts';
import type { LoginManager } from '../world/login-manager.ts';
import type { World } from '../world/world.ts';
import type { Lease, PortCall } from './lease.ts';

/** Type of the port that announces and delays the machine's shutdown. */
export type ShutdownPorts = NonNullable<NodePorts['shutdown']>;

/** Changes of logind and of the configured grace periods by which tests break invariants on purpose. */
export interface ShutdownChanges {
  readonly ports?: (ports: ShutdownPorts) => ShutdownPorts;
  readonly gracePeriods?: (periods: readonly PriorityGracePeriod[]) => readonly PriorityGracePeriod[];
}

/**
 * Wraps logind for a kubelet process: after its lease has ended, calls have no effect and never return. Returns no port
 * if the machine does not wait for pods.
 */
export function shutdownPorts(
  lease: Lease,
  { login }: World,
  tell: (happening: Happening) => void,
  { ports = (of) => of }: ShutdownChanges,
): Pick<NodePorts, 'shutdown'> {
  if (login === undefined) return {};
  return { shutdown: ports({ logind: guardedLogind(lease, login, tell), inhibitor: guardedInhibitor(lease, login) }) };
}

/** Returns the kubelet's settings for a machine that delays its shutdown. */
export function shutdownSettings(
  { shutdown }: NodePlan,
  { gracePeriods = (of) => of }: ShutdownChanges,
): Pick<AssemblySettings, 'shutdown'> {
  if (shutdown === undefined) return {};
  const { total, byPriority = [] } = shutdown;
  const periods = gracePeriodsOf({
    shutdownGracePeriodMs: (total?.graceSeconds ?? 0) * 1000,
    shutdownGracePeriodCriticalPodsMs: (total?.criticalSeconds ?? 0) * 1000,
    shutdownGracePeriodByPodPriority: byPriority.map(({ priority, graceSeconds }) => ({
      ...{ priority, shutdownGracePeriodSeconds: graceSeconds },
    })),
    byPodPriority: true,
  });
  return { shutdown: { gracePeriods: gracePeriods(periods) } };
}

function call(name: string): PortCall {
  return { port: 'logind', name, args: [] };
}

function guardedLogind(lease: Lease, login: LoginManager, tell: (happening: Happening) => void): Logind {
  const heard = (isShuttingDown: boolean): boolean => {
    if (!lease.dead) tell({ kind: 'shutdownHeard', isShuttingDown });
    return isShuttingDown;
  };
  async function* heardOf(said: AsyncIterable<boolean>): AsyncGenerator<boolean> {
    for await (const isShuttingDown of said) yield heard(isShuttingDown);
  }
  return {
    connect: (signal) =>
      lease.call(call('connect'), signal, async (linked) => {
        const session = await login.connect(linked);
        onDeath(lease, () => session.forget());
        const asked = <T>(name: string, ending: AbortSignal, ask: (ending: AbortSignal) => Promise<T>): Promise<T> =>
          lease.call(call(name), ending, ask);
        return {
          shutdowns: lease.stream(call('shutdowns'), undefined, () => heardOf(session.shutdowns)),
          inhibitDelayMs: (ending) => asked('inhibitDelayMs', ending, session.inhibitDelayMs),
          isPreparingForShutdown: async (ending) =>
            heard(await asked('isPreparingForShutdown', ending, session.isPreparingForShutdown)),
          reloadConfiguration: (ending) => asked('reloadConfiguration', ending, session.reloadConfiguration),
          close: () => {
            if (!lease.dead) session.close();
          },
        };
      }),
  };
}

/** Wraps the inhibitor for a kubelet process: a lock is released when its process ends for any reason. */
function guardedInhibitor(lease: Lease, login: LoginManager): Inhibitor {
  return {
    acquire: (signal) =>
      lease.call(call('inhibit'), signal, async (linked) => {
        const lock = await login.acquire(linked);
        onDeath(lease, () => lock.drop());
        const { promise: ended, resolve } = Promise.withResolvers<void>();
        void lock.ended.then(() => {
          if (!lease.dead) resolve();
        });
        return { ended, release: () => lease.call(call('release'), undefined, () => lock.release()) };
      }),
  };
}

function onDeath(lease: Lease, then: () => void): void {
  if (lease.dead) then();
  else lease.untilDeath(new AbortController().signal).addEventListener('abort', then, { once: true });
}
