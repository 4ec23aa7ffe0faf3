// What becomes of the fields of security contexts.
import { files as t } from './tests.mjs';
import { others, refused, works } from './verdicts.mjs';

const whose = [t.container, 'takes the container before the pod, and the pod before the image'];
const nonRoot = [t.container, 'runAsNonRoot: image %j, pod %s, container %s'];
const seccomp = [t.container, 'seccomp: pod %j, container %j, seccompDefault %s'];
const appArmor = [t.container, 'AppArmor: container %j, annotation %s'];
const windows = 'kubelets on Windows; the API server refuses it for a pod of `os: linux`';
const claims = 'volume c: type persistentVolumeClaim is not supported by this kubelet';

export const security = {
  PodSecurityContext: [
    works('appArmorProfile', appArmor, [t.appArmor, 'the default profile for the pod']),
    works('fsGroup', [t.volumes, "belong to the pod's group"]),
    refused('fsGroupChangePolicy', claims, 'only volumes of claims go by it, as upstream', [
      t.volumes,
      'is told before a pod is taken on',
    ]),
    works('runAsGroup runAsUser seLinuxOptions', whose),
    works('runAsNonRoot', nonRoot),
    refused('seLinuxChangePolicy', claims, 'only volumes of claims go by it, as upstream', [
      t.volumes,
      'is told before a pod is taken on',
    ]),
    works('seccompProfile', seccomp),
    works('supplementalGroups', whose, [
      t.sandbox,
      "carries the pod's security context, with the runtime's seccomp profile whatever the pod says",
    ]),
    works('supplementalGroupsPolicy', [t.predicates, 'strict supplemental groups where the runtime has them']),
    works(
      'sysctls',
      [t.sysctls, 'an unsafe one'],
      [t.sandbox, "carries the pod's security context, with the runtime's seccomp profile whatever the pod says"],
    ),
    others('windowsOptions', windows),
  ],
  SecurityContext: [
    works(
      'allowPrivilegeEscalation capabilities privileged readOnlyRootFilesystem runAsUser runAsGroup seLinuxOptions',
      whose,
    ),
    works('appArmorProfile', appArmor),
    works('procMount', [t.container, 'masks parts of /proc unless the container asks for all of it']),
    works('runAsNonRoot', nonRoot, [t.container, "lets a container out of its pod's runAsNonRoot"]),
    works('seccompProfile', seccomp),
    others('windowsOptions', windows),
  ],
  AppArmorProfile: [works('localhostProfile type', appArmor, [t.appArmor, 'a profile without a name'])],
  Capabilities: [works('add drop', whose)],
  SELinuxOptions: [works('level role type user', [t.container, 'SELinux labels are taken over whole'])],
  SeccompProfile: [
    works('localhostProfile type', seccomp, [t.container, 'refuses a Localhost seccomp profile without a name']),
  ],
  Sysctl: [
    works(
      'name value',
      [t.sysctls, 'safe ones'],
      [t.sandbox, "carries the pod's security context, with the runtime's seccomp profile whatever the pod says"],
    ),
  ],
  WindowsSecurityContextOptions: [
    others('gmsaCredentialSpec gmsaCredentialSpecName hostProcess runAsUserName', windows),
  ],
};
