import { seededRandom } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import { FakeApiServer } from '@node-agent/fake-apiserver';
import { RestClient, resources } from '@node-agent/kube-client';
import { expect, test } from 'vitest';
import { StatusApiError } from '../src/api-error.ts';
import { restStatusApi } from '../src/rest-status-api.ts';

const signal = new AbortController().signal;

test('a RestClient can read pods, patch their statuses and delete them by UID', async () => {
  const clock = new FakeClock();
  const server = new FakeApiServer({ clock, random: seededRandom(1) });
  const client = new RestClient({ transport: server, clock });
  const pod = { metadata: { namespace: 'default', name: 'web' }, spec: { containers: [{ name: 'c', image: 'i' }] } };
  const { metadata } = await client.create(resources.pods, { ...pod, metadata: { ...pod.metadata, uid: '' } });
  const api = restStatusApi(client);
  expect((await api.getPod('default', 'web', signal)).metadata.uid).toBe(metadata.uid);

  const patch = (uid: string) => ({ metadata: { uid }, status: { phase: 'Failed' as const } });
  const patched = await api.patchPodStatus('default', 'web', metadata.uid, patch(metadata.uid), signal);
  expect(patched.status?.phase).toBe('Failed');
  const conflict = await api
    .patchPodStatus('default', 'web', 'other', patch('other'), signal)
    .catch((cause: unknown) => cause);
  expect(conflict).toMatchObject({ httpStatus: 422 });

  const options = (uid: string) => ({ uid, gracePeriodSeconds: 0 }) as const;
  const refused = await api.deletePod('default', 'web', options('other'), signal).catch((cause: unknown) => cause);
  expect(StatusApiError.from(refused).code).toBe('Conflict');
  await api.deletePod('default', 'web', options(metadata.uid), signal);
  const gone = await api.getPod('default', 'web', signal).catch((cause: unknown) => cause);
  expect(StatusApiError.from(gone).code).toBe('NotFound');
});
