import { join } from 'node:path';
import { DriverProcess } from '@node-agent/tools-csi-driver';
import { BenchNode } from '../bench-node.ts';
import type { TurnPlan } from '../side-by-side.ts';
import { createClaims, createCsiDriver, DRIVER, deleteClaims, driverRegistered } from './claimed-volumes.ts';
import type { ClaimsBenchOptions } from './options.ts';

/** Options of one turn of a kubelet. */
export interface ClaimsPlan extends TurnPlan {
  readonly options: ClaimsBenchOptions;
  readonly say: (text: string) => void;
}

/** Node with a registered CSI driver and bound claims. */
export interface ClaimsScene {
  readonly node: BenchNode;
  readonly driver: DriverProcess;
  /** Names of the claims, their volumes and their pods. */
  readonly names: readonly string[];
  readonly tell: (text: string) => void;
}

/**
 * Starts a node with its own runtime and driver, creates claims, runs work, and stops everything.
 * @param count number of claims
 */
export async function withClaims<T>(
  plan: ClaimsPlan,
  count: number,
  work: (scene: ClaimsScene) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const { nodeName, directory, say } = plan;
  const tell = (text: string): void => say(`${nodeName}: ${text}`);
  await using stack = new AsyncDisposableStack();
  tell('waiting for the node');
  const node = stack.use(await BenchNode.start(plan, signal));
  const { client, kubelet } = node;
  await createCsiDriver(client);
  const driver = new DriverProcess({
    ...{ directory: join(directory, 'csi'), driverName: DRIVER, nodeId: nodeName },
    registryDirectory: join(kubelet.rootDirectory, 'plugins_registry'),
  });
  stack.defer(() => driver.stop());
  await driver.start();
  await driverRegistered(client, nodeName, signal);
  const names = Array.from({ length: count }, (_, index) => `${nodeName}-${index}`);
  tell(`binding ${names.length} claims`);
  await createClaims(client, driver, names, signal);
  const result = await work({ node, driver, names, tell });
  await deleteClaims(client, names);
  return result;
}
