import { type Found, findOrBuildContainerd24 } from '@node-agent/tools-containerd';
import { cannotAddAddress, findControlPlane } from '@node-agent/tools-control-plane';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { TestCluster, type TestClusterOptions } from './test-cluster.ts';

const TIMEOUT_MS = 240_000;

/** Number of replicas in scaling tests. Set NODE_AGENT_E2E_PODS to use more. */
export const PODS: number = Number(process.env.NODE_AGENT_E2E_PODS ?? 10);

/**
 * Registers tests that share a one-node cluster. If no cluster can be started, registers one skipped test with the
 * reason.
 */
export async function withCluster(
  title: string,
  {
    runtime,
    problem: ownProblem,
    ...options
  }: Omit<TestClusterOptions, 'containerd' | 'controlPlane'> & {
    /** Container runtime of the node. Default: containerd 2.4. */
    readonly runtime?: Found;
    /** Reason why these tests cannot run on this machine; absent if they can. */
    readonly problem?: string;
  },
  register: (cluster: () => TestCluster) => void,
): Promise<void> {
  const say = (text: string): void => void process.stderr.write(`${text}\n`);
  const containerd = runtime ?? (await findOrBuildContainerd24(say));
  const controlPlane = await findControlPlane({ say });
  const reason = [containerd, controlPlane].flatMap((found) => ('reason' in found ? [found.reason] : []))[0];
  const problem = reason ?? ownProblem ?? (await cannotAddAddress());
  if ('reason' in containerd || 'reason' in controlPlane || problem !== undefined) {
    test(title, (context) => context.skip(problem));
    return;
  }
  describe(title, { timeout: TIMEOUT_MS }, () => {
    let cluster: TestCluster | undefined;
    beforeAll(async () => {
      const binaries = { containerd: containerd.binaries, controlPlane: controlPlane.binaries };
      cluster = await TestCluster.start({ ...binaries, ...options });
    }, TIMEOUT_MS);
    afterAll(async () => cluster?.stop(), TIMEOUT_MS);
    register(() => {
      if (cluster === undefined) throw new Error('there is no cluster');
      return cluster;
    });
  });
}
