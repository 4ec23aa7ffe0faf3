import { expect, test } from 'vitest';
import { type PodRestClient, restStatusApi } from '../src/index.ts';

const pod = { metadata: { name: 'web', namespace: 'default', uid: 'u1' }, spec: { containers: [] } };

function recordingClient() {
  const calls: unknown[] = [];
  const answer =
    (verb: string) =>
    async (resource: { plural: string }, ...args: unknown[]) => {
      calls.push([verb, resource.plural, ...args.slice(0, -1)]);
      return pod;
    };
  const client: PodRestClient = { get: answer('get'), patch: answer('patch'), delete: answer('delete') };
  return { calls, api: restStatusApi(client) };
}

const { signal } = new AbortController();

test('restStatusApi reads the pod, patches its status with a strategic merge patch, and deletes it by UID', async () => {
  const { calls, api } = recordingClient();
  const patch = { metadata: { uid: 'u1' }, status: { phase: 'Running' as const } };
  expect(await api.getPod('default', 'web', signal)).toBe(pod);
  expect(await api.patchPodStatus('default', 'web', 'u1', patch, signal)).toBe(pod);
  await api.deletePod('default', 'web', { uid: 'u1', gracePeriodSeconds: 0 }, signal);
  const key = { namespace: 'default', name: 'web' };
  expect(calls).toEqual([
    ['get', 'pods', key],
    ['patch', 'pods', { type: 'strategic', body: patch }, { ...key, subresource: 'status' }],
    ['delete', 'pods', { ...key, preconditions: { uid: 'u1' }, gracePeriodSeconds: 0 }],
  ]);
});

test("restStatusApi throws the client's errors unchanged", async () => {
  const refused = Object.assign(new Error('gone'), { httpStatus: 404 });
  const fail = () => Promise.reject(refused);
  const api = restStatusApi({ get: fail, patch: fail, delete: fail });
  await expect(api.getPod('default', 'web', signal)).rejects.toBe(refused);
});
