import { describe, expect, test } from 'vitest';
import { appArmorProfileOf, asksForAppArmor, type PodSpec } from '../src/index.ts';
import { makePod } from './make-pod.ts';

const PREFIX = 'container.apparmor.security.beta.kubernetes.io/';
const profile = (type: string) => ({ securityContext: { appArmorProfile: { type } } });
const [runtime, unconfined] = [profile('RuntimeDefault'), profile('Unconfined')];

describe('the AppArmor profile of a container', () => {
  test.each([
    ['runtime/default', { type: 'RuntimeDefault' }],
    ['unconfined', { type: 'Unconfined' }],
    ['localhost/mine', { type: 'Localhost', localhostProfile: 'mine' }],
    ['localhost/', { type: 'Localhost', localhostProfile: '' }],
    ['mine', undefined],
    ['', undefined],
  ])('the AppArmor annotation value %j means the profile %j', (value, expected) => {
    const pod = makePod({}, { annotations: { [`${PREFIX}main`]: value } });
    expect(appArmorProfileOf(pod, { name: 'main' })).toEqual(expected);
    expect(appArmorProfileOf(pod, { name: 'other' })).toBeUndefined();
  });

  test('the AppArmor profile of a container comes from its security context, else from its annotation, else from the pod', () => {
    const annotations = { [`${PREFIX}main`]: 'localhost/x', [`${PREFIX}odd`]: 'nonsense' };
    const pod = makePod(unconfined, { annotations });
    expect(appArmorProfileOf(pod, { name: 'main', ...runtime })).toEqual({ type: 'RuntimeDefault' });
    expect(appArmorProfileOf(pod, { name: 'main' })?.type).toBe('Localhost');
    expect(appArmorProfileOf(pod, { name: 'odd' })?.type).toBe('Unconfined');
    expect(appArmorProfileOf(makePod(), { name: 'main' })).toBeUndefined();
  });
});

test.each<[what: string, spec: Partial<PodSpec>, annotations: Readonly<Record<string, string>>, asks: boolean]>([
  ['no profile', {}, {}, false],
  ['a profile of the pod', runtime, {}, true],
  ["the pod's profile Unconfined", unconfined, {}, false],
  [
    'a profile of one of several containers',
    {
      containers: [
        { name: 'a', ...unconfined },
        { name: 'b', ...runtime },
      ],
    },
    {},
    true,
  ],
  ['a profile of an init container', { initContainers: [{ name: 'i', ...runtime }] }, {}, true],
  ['a security context without a profile', { securityContext: { runAsUser: 1 } }, {}, false],
  ['an annotation', {}, { [`${PREFIX}main`]: 'runtime/default' }, true],
  ['an annotation with unconfined', {}, { [`${PREFIX}main`]: 'unconfined' }, false],
  ['other annotations', {}, { main: 'runtime/default', [`x${PREFIX}`]: 'y' }, false],
  ['one annotation of several', {}, { main: 'x', [`${PREFIX}main`]: 'localhost/x' }, true],
])('a pod with %s requests an AppArmor profile: $3', (_what, spec, annotations, asks) => {
  expect(asksForAppArmor(makePod(spec, { annotations }))).toBe(asks);
});

test('a pod without annotations requests no AppArmor', () => {
  expect(asksForAppArmor(makePod())).toBe(false);
});
