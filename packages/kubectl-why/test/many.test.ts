import { beforeEach, describe, expect, it } from 'vitest';
import { manyText, selectorText, workloadFaults } from '../src/many.ts';
import { apiStatus, ScriptedApi } from './api.ts';

const api = await ScriptedApi.start();
const explain = (node: string) => `/api/v1/nodes/${node}/proxy/debug/explain?format=json`;
const pod = (name: string, node: string | undefined, status: object = { phase: 'Running' }, namespace = 'default') => ({
  ...{ metadata: { name, namespace, uid: name }, spec: node === undefined ? {} : { nodeName: node }, status },
});
const says = (name: string, causes: readonly string[], namespace = 'default') => ({
  ...{ pod: { namespace, name, uid: name }, phase: 'Running', causes, waitingFor: [] },
});
const DEPLOYMENT = '/apis/apps/v1/namespaces/default/deployments/web';
const SELECTED = '/api/v1/namespaces/default/pods?labelSelector=app%3Dweb';
const web = { spec: { replicas: 2, selector: { matchLabels: { app: 'web' } } } };
const oom = 'c: OOMKilled (exit 137), memory limit 20Mi, 2 restarts; next restart in 5 s';

beforeEach(() => {
  api.answers.clear();
  api.asked.length = 0;
});

describe('kubectl why deploy/NAME', () => {
  it('kubectl why deploy/NAME shows a line for each pod that is not in the desired state, with one request per node', async () => {
    api.says(DEPLOYMENT, web);
    const gate = { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] };
    api.says(SELECTED, {
      items: [pod('web-a', 'n1'), pod('web-b', 'n1'), pod('web-c', 'n2'), pod('web-d', undefined, gate)],
    });
    api.says(explain('n1'), { waiting: [says('web-b', [oom, 'also']), says('other', ['x'])] });
    api.says(explain('n2'), {
      waiting: [{ ...says('web-c', []), waitingFor: [{ what: 'volumes: no\nsuch \x1b[2J' }] }],
    });
    const { code, out, err } = await api.why('deploy/web');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out.split('\n')).toEqual([
      `web-b  n1  ${oom}`,
      '           also',
      'web-c  n2  volumes: no such \uFFFD[2J',
      'web-d  -   scheduling: Unschedulable',
      'deployment/web in the namespace default: 4 pods, 3 of them not in the desired state',
      '',
    ]);
    expect(api.asked.map(({ path }) => path).filter((path) => path.includes('/proxy/'))).toHaveLength(2);
  });

  it.each([
    ['deployment/web', 'apps', 'deployments'],
    ['Deployments/web', 'apps', 'deployments'],
    ['rs/web', 'apps', 'replicasets'],
    ['sts/web', 'apps', 'statefulsets'],
    ['ds/web', 'apps', 'daemonsets'],
    ['job/web', 'batch', 'jobs'],
  ])('kubectl why accepts the workload %s', async (subject, group, plural) => {
    api.says(`/apis/${group}/v1/namespaces/default/${plural}/web`, web);
    api.says(SELECTED, { items: [] });
    expect((await api.why(subject)).out).toMatch(
      /^\w+\/web in the namespace default: 0 pods, 0 of them not in the desired state\n$/,
    );
  });

  it('kubectl why of a workload without pods shows first why there are none', async () => {
    const condition = { type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message: 'exceeded quota' };
    api.says(DEPLOYMENT, { ...web, status: { conditions: [condition] } });
    api.says(SELECTED, { items: [] });
    expect((await api.why('deploy/web')).out.split('\n')[0]).toBe('ReplicaFailure: FailedCreate: exceeded quota');
  });

  it('kubectl why explains a missing workload and a missing permission', async () => {
    expect((await api.why('deploy/web')).err).toBe('error: there is no deployment web in the namespace default\n');
    api.says(DEPLOYMENT, apiStatus(403, 'Forbidden', 'no'), 403);
    expect((await api.why('deploy/web')).err).toMatch(
      /^error: no\n.*in the namespace default[\s\S]*apiGroups: \["apps"][\s\S]*"deployments"[\s\S]*"get"/,
    );
    api.says(DEPLOYMENT, web);
    api.says(SELECTED, apiStatus(403, 'Forbidden', 'no'), 403);
    expect((await api.why('deploy/web')).err).toMatch(/"pods"[\s\S]*"list"/);
  });
});

describe('kubectl why --all', () => {
  it.each([
    [['--all'], '/api/v1/namespaces/default/pods', 'in the namespace default'],
    [['--all', '-n', 'shop'], '/api/v1/namespaces/shop/pods', 'in the namespace shop'],
    [['-n', 'shop'], '/api/v1/namespaces/shop/pods', 'in the namespace shop'],
    [['ns/shop'], '/api/v1/namespaces/shop/pods', 'in the namespace shop'],
    [['-A'], '/api/v1/pods', 'in all namespaces'],
  ])('kubectl why %j lists %s', async (argv, path, where) => {
    api.says(path, { items: [] });
    expect((await api.why(...argv)).out).toBe(`pods ${where}: 0 pods, 0 of them not in the desired state\n`);
  });

  it('kubectl why --all shows namespaces if there are several, and JSON on request', async () => {
    api.says('/api/v1/pods', { items: [pod('a', 'n1', {}, 'x'), pod('a', 'n1', {}, 'y')] });
    api.says(explain('n1'), { waiting: [says('a', ['why'], 'y')] });
    expect((await api.why('-A')).out.split('\n')[0]).toBe('y/a  n1  why');
    expect(JSON.parse((await api.why('-A', '-o', 'json')).out)).toEqual({
      subject: 'pods in all namespaces',
      pods: 2,
      notAsWanted: [{ namespace: 'y', name: 'a', node: 'n1', phase: 'Pending', causes: ['why'] }],
    });
  });

  it('kubectl why shows why a node returned no explanation, unless the pod is ready', async () => {
    const isReady = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
    api.says('/api/v1/pods', { items: [pod('a', 'n1'), pod('b', 'n1', isReady)] });
    api.says(explain('n1'), apiStatus(503, 'ServiceUnavailable', 'away'), 503);
    expect((await api.why('-A')).out.split('\n')[0]).toBe(
      'default/a  n1  Running; the API server does not reach the node n1: away',
    );
  });
});

it.each([
  [undefined, ''],
  [{ matchLabels: { a: '1', b: '2' } }, 'a=1,b=2'],
  [
    {
      matchExpressions: [
        { key: 'a', operator: 'In', values: ['1', '2'] },
        { key: 'b', operator: 'NotIn', values: ['3'] },
        { key: 'c', operator: 'Exists' },
        { key: 'd', operator: 'DoesNotExist' },
      ],
    },
    'a in (1,2),b notin (3),c,!d',
  ],
])('the label selector %j becomes the query %j', (selector, expected) => {
  expect(selectorText(selector)).toBe(expected);
});

it.each([
  [{}, []],
  [{ replicas: 0 }, ['spec.replicas is 0']],
])('a workload with the spec %j has the faults %j', (spec, expected) => {
  expect(workloadFaults({ spec })).toEqual(expected);
});

it('kubectl why reports a workload whose progress stopped, and no fault for a workload that progresses', () => {
  const condition = (type: string, status: string) => ({ type, status, reason: 'r', message: 'm' });
  const status = { conditions: [condition('Progressing', 'False'), condition('Available', 'False')] };
  expect(workloadFaults({ spec: {}, status })).toEqual(['Progressing: r: m']);
  expect(workloadFaults({ spec: {}, status: { conditions: [condition('Progressing', 'True')] } })).toEqual([]);
});

describe('the text of very many pods', () => {
  it('the text of very many pods has a line per pod', () => {
    const line = { namespace: 'd', name: 'p', node: 'n', phase: 'Pending', causes: ['c'] };
    const notAsWanted = Array.from({ length: 200_000 }, () => line);
    const text = manyText({ subject: 'pods', pods: notAsWanted.length, notAsWanted }, false);
    expect(text.match(/^p {2}n {2}c$/gm)).toHaveLength(notAsWanted.length);
  });
});
