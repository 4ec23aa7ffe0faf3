import type { PodSecurityContext, PodSpec, SecurityContext } from '../api.ts';
import { duplicate, forbidden, invalid, required } from '../field-error.ts';
import { sysctlNamespace } from '../sysctls.ts';
import { descending, inRange, oneOf, type Problems } from './rules.ts';

const MAX_ID = 2 ** 31 - 1;
const MAX_SYSCTL_LENGTH = 253;
const SEGMENT = '[a-z0-9]([-_a-z0-9]*[a-z0-9])?';
const SYSCTL = `^(${SEGMENT}[\\./])*${SEGMENT}$`;
const sysctlPattern = new RegExp(SYSCTL);
const PROFILES = ['Localhost', 'RuntimeDefault', 'Unconfined'];

type Profile = NonNullable<SecurityContext['seccompProfile']>;

/** Validates a container's security context. */
export function* validateSecurityContext(context: SecurityContext, spec: PodSpec, path: string): Problems {
  yield* inRange(`${path}.runAsUser`, context.runAsUser, 0, MAX_ID);
  yield* inRange(`${path}.runAsGroup`, context.runAsGroup, 0, MAX_ID);
  yield* oneOf(`${path}.procMount`, context.procMount, ['Default', 'Unmasked']);
  if (context.procMount === 'Unmasked' && spec.hostUsers !== false) {
    yield invalid(`${path}.procMount`, context.procMount, '`hostUsers` must be false to use `Unmasked`');
  }
  yield* validateProfiles(context, path);
  if (context.windowsOptions && spec.os?.name !== 'windows') {
    yield forbidden(`${path}.windowsOptions`, 'windows options cannot be set for a linux pod');
  }
  if (context.allowPrivilegeEscalation !== false) return;
  if (context.privileged) {
    yield invalid(path, context, 'cannot set `allowPrivilegeEscalation` to false and `privileged` to true');
  }
  if (context.capabilities?.add?.includes('CAP_SYS_ADMIN')) {
    const detail = 'cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN';
    yield invalid(path, context, detail);
  }
}

/** Validates a pod's security context and its use of host namespaces. */
export function* validatePodSecurity(spec: PodSpec, path: string): Problems {
  const context = spec.securityContext ?? {};
  const at = `${path}.securityContext`;
  for (const field of ['fsGroup', 'runAsUser', 'runAsGroup'] as const) {
    yield* inRange(`${at}.${field}`, context[field], 0, MAX_ID);
  }
  for (const [index, group] of (context.supplementalGroups ?? []).entries()) {
    yield* inRange(`${at}.supplementalGroups[${index}]`, group, 0, MAX_ID);
  }
  yield* oneOf(`${at}.fsGroupChangePolicy`, context.fsGroupChangePolicy, ['Always', 'OnRootMismatch']);
  yield* oneOf(`${at}.supplementalGroupsPolicy`, context.supplementalGroupsPolicy, ['Merge', 'Strict']);
  yield* oneOf(`${at}.seLinuxChangePolicy`, context.seLinuxChangePolicy, ['MountOption', 'Recursive']);
  yield* validateProfiles(context, at);
  yield* validateSysctls(context, spec, `${at}.sysctls`);
  if (context.windowsOptions && spec.os?.name !== 'windows') {
    yield forbidden(`${at}.windowsOptions`, 'windows options cannot be set for a linux pod');
  }
  if (spec.shareProcessNamespace && spec.hostPID) {
    yield invalid(`${path}.shareProcessNamespace`, true, 'ShareProcessNamespace and HostPID cannot both be enabled');
  }
  if (spec.hostUsers !== false) return;
  for (const field of ['hostNetwork', 'hostPID', 'hostIPC'] as const) {
    if (spec[field]) yield forbidden(`${path}.${field}`, 'when `hostUsers` is false');
  }
}

function* validateProfiles(context: SecurityContext | PodSecurityContext, path: string): Problems {
  const { appArmorProfile, seccompProfile } = context;
  if (seccompProfile) yield* validateProfile(seccompProfile, `${path}.seccompProfile`, 'seccomp');
  if (appArmorProfile) yield* validateProfile(appArmorProfile, `${path}.appArmorProfile`, 'AppArmor');
}

function* validateProfile(profile: Profile, path: string, kind: 'seccomp' | 'AppArmor'): Problems {
  if (!profile.type)
    yield required(`${path}.type`, kind === 'seccomp' ? 'type is required when seccompProfile is set' : '');
  else yield* oneOf(`${path}.type`, profile.type, PROFILES);
  const at = `${path}.localhostProfile`;
  const file = profile.localhostProfile;
  if (profile.type !== 'Localhost') {
    if (file !== undefined) yield invalid(at, file, `can only be set when ${kind} type is Localhost`);
  } else if (file === undefined) yield required(at, `must be set when ${kind} type is Localhost`);
  else if (kind === 'seccomp') yield* descending(at, file);
  else if (file !== file.trim()) yield invalid(at, file, 'must not be padded with whitespace');
  else if (file === '') yield required(at, 'must be set when AppArmor type is Localhost');
}

function* validateSysctls(context: PodSecurityContext, spec: PodSpec, path: string): Problems {
  const names = new Set<string>();
  for (const [index, { name }] of (context.sysctls ?? []).entries()) {
    const at = `${path}[${index}].name`;
    if (!name) yield required(at);
    else if (name.length > MAX_SYSCTL_LENGTH || !sysctlPattern.test(name)) {
      yield invalid(at, name, `must have at most ${MAX_SYSCTL_LENGTH} characters and match regex ${SYSCTL}`);
    } else if (names.has(name)) yield duplicate(at, name);
    names.add(name);
    const namespace = sysctlNamespace(name);
    if (spec.hostNetwork && namespace === 'net') {
      yield invalid(at, name, "may not be specified when 'hostNetwork' is true");
    }
    if (spec.hostIPC && namespace === 'ipc') yield invalid(at, name, "may not be specified when 'hostIPC' is true");
  }
}
