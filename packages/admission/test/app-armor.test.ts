import type { Pod, PodSecurityContext } from '@node-agent/pod-spec';
import { describe, expect, test } from 'vitest';
import { appArmorHandler } from '../src/app-armor.ts';
import { makePod } from './pods.ts';

type Profile = NonNullable<PodSecurityContext['appArmorProfile']>;

const ofPod = (appArmorProfile: Profile): Pod => makePod('p', {}, { securityContext: { appArmorProfile } });
const ofContainer = (group: 'initContainers' | 'containers', appArmorProfile: Profile): Pod =>
  makePod('p', {}, { [group]: [{ name: 'c', image: 'i', securityContext: { appArmorProfile } }] });
const profiled = (localhostProfile: string) => ({
  name: `c${localhostProfile}`,
  image: 'i',
  securityContext: { appArmorProfile: { type: 'Localhost', localhostProfile } },
});
const annotated = (value: string, container = 'main'): Pod => {
  const pod = makePod('p');
  const annotations = { [`container.apparmor.security.beta.kubernetes.io/${container}`]: value };
  return { ...pod, metadata: { ...pod.metadata, annotations } };
};
const admit = (pod: Pod, enabled: boolean): string => {
  const result = appArmorHandler({ enabled }).admit(pod);
  return result.admit ? 'admitted' : `${result.reason}: ${result.message}`;
};

const OFF = 'AppArmor: Cannot enforce AppArmor: AppArmor is not enabled on the host';
/** @param profile its name, as Go shows a pointer to it */
const empty = (profile: string): string =>
  `AppArmor: Cannot enforce AppArmor: invalid empty AppArmor profile name: "&AppArmorProfile{Type:Localhost,LocalhostProfile:${profile},}"`;

describe('AppArmor', () => {
  test.each<[string, Pod, string, string]>([
    ['not asked for', makePod('p'), 'admitted', 'admitted'],
    ['unconfined', ofPod({ type: 'Unconfined' }), 'admitted', 'admitted'],
    ['the default profile for the pod', ofPod({ type: 'RuntimeDefault' }), OFF, 'admitted'],
    [
      'a profile for a container',
      ofContainer('containers', { type: 'Localhost', localhostProfile: 'x' }),
      OFF,
      'admitted',
    ],
    ['a profile for an init container', ofContainer('initContainers', { type: 'RuntimeDefault' }), OFF, 'admitted'],
    [
      'a profile without a name',
      ofContainer('containers', { type: 'Localhost', localhostProfile: ' ' }),
      OFF,
      empty('* '),
    ],
    ['no profile at all, by no name', ofContainer('containers', { type: 'Localhost' }), OFF, empty('nil')],
    [
      'one container of two without a name',
      makePod('p', {}, { containers: [profiled('x'), profiled('')] }),
      OFF,
      empty('*'),
    ],
    ['the annotation of old', annotated('runtime/default'), OFF, 'admitted'],
    ['the annotation of old, unconfined', annotated('unconfined'), 'admitted', 'admitted'],
    ['the annotation of old without a name', annotated('localhost/'), OFF, empty('*')],
    ['the annotation of old for nobody', annotated('localhost/', 'other'), OFF, 'admitted'],
  ])('%s: where it is off %s, where it is on %s', (_, pod, whereOff, whereOn) => {
    expect(admit(pod, false)).toBe(whereOff);
    expect(admit(pod, true)).toBe(whereOn);
  });

  test('a pod that runs already is not asked again (N1)', () => {
    const pod = ofPod({ type: 'RuntimeDefault' });
    expect(admit({ ...pod, status: { phase: 'Running' } }, false)).toBe('admitted');
    expect(admit({ ...pod, status: { phase: 'Pending' } }, false)).toBe(OFF);
  });
});
