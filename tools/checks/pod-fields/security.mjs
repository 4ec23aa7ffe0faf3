// Verdicts on the fields of security contexts.
import { files as t } from './tests.mjs';
import { others, works } from './verdicts.mjs';

const users = [t.security, 'users and groups come from the container, else from the pod, else from the image'];
const whose = [
  t.container,
  "the security context of the container takes precedence over the pod's, and the pod's over the image's user",
];
const nonRoot = [
  t.container,
  'runAsNonRoot with image user %j, runAsUser %s of the pod and %s of the container: error %s',
];
const seccomp = [
  t.container,
  'for pod profile %j, container profile %j and seccompDefault %s, the seccomp profile has type $3 and path "$4"',
];
const appArmor = [t.container, 'for container field %j and annotation %s, the AppArmor profile is $4'];
const windows = 'kubelets on Windows; the API server refuses the field for a pod with `os: linux`';

export const security = {
  PodSecurityContext: [
    works('appArmorProfile', appArmor, [t.appArmor, 'RuntimeDefault for the pod']),
    works('fsGroup', [t.volumes, "an emptyDir volume belongs to the pod's fsGroup"]),
    works('fsGroupChangePolicy', [
      t.local,
      "with fsGroupChangePolicy OnRootMismatch, ownership changes only if the volume's root directory has another group",
    ]),
    works('runAsGroup runAsUser', whose, users),
    works('seLinuxOptions', whose),
    works('runAsNonRoot', nonRoot, [
      t.security,
      'runAsNonRoot rejects a container whose image runs as root, and accepts another user',
    ]),
    works(
      'seLinuxChangePolicy',
      [
        t.selinux,
        'a CSI volume is mounted with the SELinux label of its pod, which both data files contain, and is not relabelled',
      ],
      [t.selinux, 'a CSI volume %s is mounted without an SELinux label, and the runtime relabels it'],
      [
        t.csi,
        'the runtime relabels a CSI volume whose file system %s SELinux labels: $1, despite seLinuxChangePolicy and seLinuxMount',
      ],
    ),
    works('seccompProfile', seccomp, [
      t.security,
      "seccomp is unconfined by default, or uses the runtime's profile or a profile of the node",
    ]),
    works('supplementalGroups', whose, users, [
      t.sandbox,
      "the sandbox config has the pod's security context, and always the runtime's default seccomp profile",
    ]),
    works('supplementalGroupsPolicy', [
      t.predicates,
      'admits a pod with a strict supplemental groups policy if the runtime supports the policy',
    ]),
    works(
      'sysctls',
      [t.security, "sets sysctls in the pod's namespaces"],
      [t.sysctls, 'an unsafe sysctl'],
      [
        t.sandbox,
        "the sandbox config has the pod's security context, and always the runtime's default seccomp profile",
      ],
    ),
    others('windowsOptions', windows),
  ],
  SecurityContext: [
    works('allowPrivilegeEscalation readOnlyRootFilesystem', whose, [
      t.security,
      'allowPrivilegeEscalation: false sets no_new_privs, and readOnlyRootFilesystem makes the root read-only',
    ]),
    works('capabilities privileged', whose, [
      t.security,
      'adds and drops capabilities, and adds all capabilities to a privileged container',
    ]),
    works('runAsUser runAsGroup', whose, users),
    works('seLinuxOptions', whose),
    works('appArmorProfile', appArmor),
    works(
      'procMount',
      [t.security, 'masks parts of /proc or makes them read-only, except with procMount Unmasked'],
      [t.container, 'masks paths in /proc unless procMount is Unmasked'],
    ),
    works('runAsNonRoot', nonRoot, [
      t.container,
      "runAsNonRoot false of a container takes precedence over the pod's true",
    ]),
    works('seccompProfile', seccomp, [
      t.security,
      "seccomp is unconfined by default, or uses the runtime's profile or a profile of the node",
    ]),
    others('windowsOptions', windows),
  ],
  AppArmorProfile: [works('localhostProfile type', appArmor, [t.appArmor, 'a Localhost profile with an empty name'])],
  Capabilities: [works('add drop', whose)],
  SELinuxOptions: [
    works('level role type user', [
      t.container,
      'SELinux options of the container replace those of the pod as a whole',
    ]),
  ],
  SeccompProfile: [
    works('localhostProfile type', seccomp, [t.container, 'refuses a Localhost seccomp profile without a name']),
  ],
  Sysctl: [
    works(
      'name value',
      [t.sysctls, 'safe sysctls'],
      [
        t.sandbox,
        "the sandbox config has the pod's security context, and always the runtime's default seccomp profile",
      ],
    ),
  ],
  WindowsSecurityContextOptions: [
    others('gmsaCredentialSpec gmsaCredentialSpecName hostProcess runAsUserName', windows),
  ],
};
