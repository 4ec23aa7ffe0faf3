import { expect, it } from 'vitest';
import { containerReference, podReference } from '../src/index.ts';
import { makePod } from './make-pod.ts';

it("podReference has the pod's identity and resourceVersion; containerReference adds the container's field path", () => {
  const web = makePod({
    initContainers: [{ name: 'i', image: 'x' }],
    containers: [{ name: 'app', image: 'x' }],
    ephemeralContainers: [{ name: 'd', image: 'x' }],
  });
  const { namespace, name, uid } = web.metadata;
  expect(podReference(web)).toEqual({ kind: 'Pod', apiVersion: 'v1', namespace, name, uid });
  const places = ['app', 'i', 'd', 'x'].map((container) => containerReference(web, container));
  expect(places.map(({ fieldPath }) => fieldPath)).toEqual([
    'spec.containers{app}',
    'spec.initContainers{i}',
    'spec.ephemeralContainers{d}',
    'implicitly required container x',
  ]);
  expect(places[0]).toMatchObject(podReference(web));
  const read = { ...web, metadata: { ...web.metadata, resourceVersion: '17' } };
  expect(podReference(read)).toEqual({ ...podReference(web), resourceVersion: '17' });
  expect(containerReference(read, 'app')).toEqual({ ...places[0], resourceVersion: '17' });
});
