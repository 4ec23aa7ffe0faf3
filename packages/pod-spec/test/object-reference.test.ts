import { expect, it } from 'vitest';
import { containerReference, podReference } from '../src/index.ts';
import { makePod } from './make-pod.ts';

it('an event refers to a pod by its identity, and to a container by its place in the pod', () => {
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
});
