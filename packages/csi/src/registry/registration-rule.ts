import { dns1123SubdomainProblem } from '@node-agent/pod-spec';
import { compareVersions, highestSupportedVersion, type Version } from './version.ts';

/** A driver that wants to register. */
export interface RegistrationRequest {
  /** Step of the registration, for the message. */
  readonly step: 'ValidatePlugin' | 'RegisterPlugin';
  readonly name: string;
  readonly versions: readonly string[];
}

/** Limit of the API server for the names of CSIDriver objects and of drivers in CSINode. */
const MAX_NAME_LENGTH = 63;
/** Most versions that a message lists. */
const MAX_SHOWN_VERSIONS = 8;

/**
 * Returns the version under which a driver may register: its highest 1.x version. The version must be higher than the
 * version of a registered driver of the same name (`pkg/volume/csi/csi_plugin.go: validateVersions`).
 * @param registered version of the registered driver of the same name
 * @returns the reason, in upstream's words, if the driver must not register
 */
export function registrationVersion(
  { step, name, versions }: RegistrationRequest,
  registered: Version | undefined,
): Version | string {
  const failed = `kubernetes.io/csi: ${step} for CSI driver ${JSON.stringify(name.slice(0, 2 * MAX_NAME_LENGTH))} failed.`;
  // The name is checked, because it becomes a part of paths.
  const problem = nameProblem(name);
  if (problem !== undefined) return `${failed} Invalid name: ${problem}`;
  if (versions.length === 0) return `${failed} Plugin returned an empty list for supported versions`;
  const version = highestSupportedVersion(versions);
  if (typeof version === 'string') {
    const shown = versions.slice(0, MAX_SHOWN_VERSIONS).map((text) => JSON.stringify(text.slice(0, 64)));
    return `${failed} None of the versions specified [${shown.join(' ')}] are supported. err=${version}`;
  }
  if (registered !== undefined && compareVersions(registered, version) >= 0) {
    const higher = JSON.stringify(registered.join('.'));
    return `${failed} Another driver with the same name is already registered with a higher supported version: ${higher}`;
  }
  return version;
}

/** Checks the name of a driver as the API server does; capital letters are allowed. */
function nameProblem(name: string): string | undefined {
  if (name.length > MAX_NAME_LENGTH) return `must be no more than ${MAX_NAME_LENGTH} characters`;
  return dns1123SubdomainProblem(name.toLowerCase())[0];
}
