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
  ])('that the annotation %j names is %j', (value, expected) => {
    const pod = makePod({}, { annotations: { [`${PREFIX}main`]: value } });
    expect(appArmorProfileOf(pod, { name: 'main' })).toEqual(expected);
    expect(appArmorProfileOf(pod, { name: 'other' })).toBeUndefined();
  });

  test('is its own, else the annotation’s, else the pod’s', () => {
    const annotations = { [`${PREFIX}main`]: 'localhost/x', [`${PREFIX}odd`]: 'nonsense' };
    const pod = makePod(unconfined, { annotations });
    expect(appArmorProfileOf(pod, { name: 'main', ...runtime })).toEqual({ type: 'RuntimeDefault' });
    expect(appArmorProfileOf(pod, { name: 'main' })?.type).toBe('Localhost');
    expect(appArmorProfileOf(pod, { name: 'odd' })?.type).toBe('Unconfined');
    expect(appArmorProfileOf(makePod(), { name: 'main' })).toBeUndefined();
  });
});

test.each<[what: string, spec: Partial<PodSpec>, annotations: Readonly<Record<string, string>>, asks: boolean]>([
  ['a pod that says nothing', {}, {}, false],
  ['the pod’s own', runtime, {}, true],
  ['the pod’s own, of none', unconfined, {}, false],
  [
    'one container of several',
    {
      containers: [
        { name: 'a', ...unconfined },
        { name: 'b', ...runtime },
      ],
    },
    {},
    true,
  ],
  ['an init container', { initContainers: [{ name: 'i', ...runtime }] }, {}, true],
  ['a security context that says nothing of it', { securityContext: { runAsUser: 1 } }, {}, false],
  ['an annotation', {}, { [`${PREFIX}main`]: 'runtime/default' }, true],
  ['an annotation of none', {}, { [`${PREFIX}main`]: 'unconfined' }, false],
  ['other annotations', {}, { main: 'runtime/default', [`x${PREFIX}`]: 'y' }, false],
  ['one annotation of several', {}, { main: 'x', [`${PREFIX}main`]: 'localhost/x' }, true],
])('asks for AppArmor: %s', (_what, spec, annotations, asks) => {
  expect(asksForAppArmor(makePod(spec, { annotations }))).toBe(asks);
});

test('asks for AppArmor: a pod without annotations does not', () => {
  expect(asksForAppArmor(makePod())).toBe(false);
});
