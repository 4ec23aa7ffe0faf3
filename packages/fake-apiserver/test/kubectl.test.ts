import { describe, expect, test } from 'vitest';
import { call, PODS, pod, world } from './support.ts';

const TABLE = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json' };

describe('tables for kubectl', () => {
  test('the table of pods shows readiness, state, restarts and age', async () => {
    const { api, clock } = world();
    await call(api, 'POST', PODS, pod('web', { nodeName: 'n' }));
    const containerStatuses = [{ name: 'main', ready: true, restartCount: 3, image: 'busybox', imageID: '' }];
    const patch = { 'content-type': 'application/merge-patch+json' };
    await call(api, 'PATCH', `${PODS}/web/status`, { status: { phase: 'Running', containerStatuses } }, patch);
    await clock.advance(125_000);
    const rows = async (): Promise<unknown> => {
      const { body } = await call(api, 'GET', PODS, undefined, TABLE);
      return (body.rows as { cells: unknown[] }[]).map(({ cells }) => cells.slice(0, 5));
    };
    expect(await rows()).toEqual([['web', '1/1', 'Running', 3, '2m5s']]);
    await call(api, 'DELETE', `${PODS}/web`);
    expect(await rows()).toEqual([['web', '1/1', 'Terminating', 3, '2m5s']]);
  });

  test('the table of nodes shows condition and roles', async () => {
    const { api } = world();
    const labels = { 'node-role.kubernetes.io/worker': '', 'node-role.kubernetes.io/edge': '' };
    const conditions = [{ type: 'Ready', status: 'True' }];
    const nodeInfo = { kubeletVersion: 'v1.36.3' };
    api.put({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n', labels }, status: { conditions, nodeInfo } });
    api.put({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'm' }, spec: { unschedulable: true } });
    const { body } = await call(api, 'GET', '/api/v1/nodes', undefined, TABLE);
    expect((body.rows as { cells: unknown[] }[]).map(({ cells }) => cells.slice(0, 5))).toEqual([
      ['m', 'Unknown,SchedulingDisabled', '<none>', '0s', ''],
      ['n', 'Ready', 'edge,worker', '0s', 'v1.36.3'],
    ]);
  });

  test.each([
    [119, '119s'],
    [120, '2m'],
    [601, '10m'],
    [3 * 3600 + 60, '3h1m'],
    [8 * 3600 + 60, '8h'],
    [3 * 86_400, '3d'],
  ])('an age of %i s is shown as %s', async (seconds, expected) => {
    const { api, clock } = world();
    await clock.advance(seconds * 1000);
    const { body } = await call(api, 'GET', '/api/v1/namespaces/default', undefined, TABLE);
    expect((body.rows as { cells: unknown[] }[])[0]?.cells.at(-1)).toBe(expected);
  });

  test('every resource that discovery names is served', async () => {
    const { api } = world();
    const { body } = await call(api, 'GET', '/apis');
    const groups = (body.groups as { preferredVersion: { groupVersion: string } }[]).map(
      (group) => `/apis/${group.preferredVersion.groupVersion}`,
    );
    for (const base of ['/api/v1', ...groups]) {
      const { body: list } = await call(api, 'GET', base);
      for (const { name, verbs } of list.resources as { name: string; verbs: string[] }[]) {
        if (name.includes('/') || !verbs.includes('list')) continue;
        expect([base, name, (await call(api, 'GET', `${base}/${name}`)).status]).toEqual([base, name, 200]);
      }
    }
  });
});
