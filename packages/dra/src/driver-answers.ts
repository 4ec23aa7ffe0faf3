import type { PreparedDevice } from './claim-info.ts';
import { DraError } from './errors.ts';

/** A claim as it is passed to drivers. */
export interface DriverClaim {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
}

/** Response of a driver for one claim. `error` is empty on success. */
export interface PrepareAnswer {
  readonly devices: readonly {
    readonly requestNames: readonly string[];
    readonly poolName: string;
    readonly deviceName: string;
    readonly cdiDeviceIds: readonly string[];
    readonly shareId?: string;
  }[];
  readonly error: string;
}

/**
 * Maximum length of all texts in a driver's response for one claim. The limit is needed because all responses are kept
 * in memory and in one file (W6). A claim has at most 32 allocated devices.
 */
const MAX_TEXT = 256 * 1024;
const MAX_DEVICES = 1024;
/** Maximum length of a driver's error in events and logs. */
const MAX_ERROR = 1024;

/** Devices that a driver prepared, by claim UID. */
export type PreparedDevices = ReadonlyMap<string, readonly PreparedDevice[]>;

/**
 * Checks a response to NodePrepareResources (`prepareResources` in `pkg/kubelet/cm/dra/manager.go`).
 * @returns the devices by claim UID
 * @throws DraError `DriverFailed` in upstream's words
 */
export function preparedDevices(
  claims: readonly DriverClaim[],
  answers: Readonly<Record<string, PrepareAnswer | null | undefined>>,
): PreparedDevices {
  checkAnswers('NodePrepareResources', claims, answers);
  return new Map(
    claims.map(({ uid, name }) => {
      const devices = answers[uid]?.devices ?? [];
      checkBounds(name, devices);
      return [uid, devices.map(preparedDevice)];
    }),
  );
}

/**
 * Checks a response to NodePrepareResources or NodeUnprepareResources: The response must contain a result for each
 * requested claim, and no result may be an error. @throws DraError `DriverFailed` in upstream's words
 */
export function checkAnswers(
  call: 'NodePrepareResources' | 'NodeUnprepareResources',
  claims: readonly DriverClaim[],
  answers: Readonly<Record<string, { readonly error: string } | null | undefined>>,
): void {
  const names = new Map(claims.map(({ uid, name }) => [uid, name]));
  for (const uid of Object.keys(answers)) {
    if (!names.has(uid)) throw failed(`${call} returned result for unknown claim UID ${shown(uid)}`);
  }
  for (const [uid, name] of names) {
    const error = answers[uid]?.error ?? '';
    if (error !== '') throw failed(`${call} failed for ResourceClaim ${name}: ${shown(error)}`);
  }
  const skipped = claims.filter(({ uid }) => !Object.hasOwn(answers, uid)).length;
  if (skipped > 0) throw failed(`${call} skipped ${skipped} ResourceClaims`);
}

function checkBounds(claimName: string, devices: PrepareAnswer['devices']): void {
  const refuse = (what: string): DraError =>
    failed(`NodePrepareResources returned too much for ResourceClaim ${claimName}: ${what}`);
  if (devices.length > MAX_DEVICES) throw refuse(`${devices.length} devices, at most ${MAX_DEVICES} are accepted`);
  const texts = devices.flatMap(({ poolName, deviceName, shareId = '', requestNames, cdiDeviceIds }) => [
    ...[poolName, deviceName, shareId],
    ...requestNames,
    ...cdiDeviceIds,
  ]);
  // Each text counts one more than its length, because a list of empty texts needs space too.
  const size = texts.reduce((sum, text) => sum + text.length + 1, 0);
  if (size > MAX_TEXT) throw refuse(`${size} characters of names, at most ${MAX_TEXT} are accepted`);
}

function preparedDevice(answer: PrepareAnswer['devices'][number]): PreparedDevice {
  const { poolName: pool, deviceName: device, requestNames, cdiDeviceIds, shareId } = answer;
  return { ...{ pool, device, requestNames, cdiDeviceIds }, ...(shareId ? { shareId } : {}) };
}

function failed(message: string): DraError {
  return new DraError('DriverFailed', message);
}

function shown(text: string): string {
  return text.length <= MAX_ERROR ? text : `${text.slice(0, MAX_ERROR)}...`;
}
