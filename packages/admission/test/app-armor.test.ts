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
/**
 * Returns the message about an empty profile name.
 * @param profile name of the profile, in the form in which Go prints a pointer to the name
 */
const empty = (profile: string): string =>
  `AppArmor: Cannot enforce AppArmor: invalid empty AppArmor profile name: "&AppArmorProfile{Type:Localhost,LocalhostProfile:${profile},}"`;

describe('appArmorHandler', () => {
  test.each<[string, Pod, string, string]>([
    ['not requested', makePod('p'), 'admitted', 'admitted'],
    ['unconfined', ofPod({ type: 'Unconfined' }), 'admitted', 'admitted'],
    ['RuntimeDefault for the pod', ofPod({ type: 'RuntimeDefault' }), OFF, 'admitted'],
    [
      'a Localhost profile for a container',
      ofContainer('containers', { type: 'Localhost', localhostProfile: 'x' }),
      OFF,
      'admitted',
    ],
    [
      'RuntimeDefault for an init container',
      ofContainer('initContainers', { type: 'RuntimeDefault' }),
      OFF,
      'admitted',
    ],
    [
      'a Localhost profile with an empty name',
      ofContainer('containers', { type: 'Localhost', localhostProfile: ' ' }),
      OFF,
      empty('* '),
    ],
    ['a Localhost profile without a name', ofContainer('containers', { type: 'Localhost' }), OFF, empty('nil')],
    [
      'an empty name in one container of two',
      makePod('p', {}, { containers: [profiled('x'), profiled('')] }),
      OFF,
      empty('*'),
    ],
    ['the deprecated annotation', annotated('runtime/default'), OFF, 'admitted'],
    ['the deprecated annotation, unconfined', annotated('unconfined'), 'admitted', 'admitted'],
    ['the deprecated annotation with an empty name', annotated('localhost/'), OFF, empty('*')],
    ['the deprecated annotation for an unknown container', annotated('localhost/', 'other'), OFF, 'admitted'],
  ])('AppArmor profile is %s, verdicts without and with AppArmor on the host: $2; $3', (_, pod, whereOff, whereOn) => {
    expect(admit(pod, false)).toBe(whereOff);
    expect(admit(pod, true)).toBe(whereOn);
  });

  test('admits a running pod without an AppArmor check (N1)', () => {
    const pod = ofPod({ type: 'RuntimeDefault' });
    expect(admit({ ...pod, status: { phase: 'Running' } }, false)).toBe('admitted');
    expect(admit({ ...pod, status: { phase: 'Pending' } }, false)).toBe(OFF);
  });
});
