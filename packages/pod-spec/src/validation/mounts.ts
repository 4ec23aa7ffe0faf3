import type { Container, Volume, VolumeMount } from '../api.ts';
import { forbidden, invalid, notFound, required } from '../field-error.ts';
import { descending, oneOf, type Problems } from './rules.ts';

/** Validates a container's volume mounts and devices. */
export function* validateMounts(container: Container, volumes: readonly Volume[], path: string): Problems {
  const paths = new Set<string>();
  const devices = container.volumeDevices ?? [];
  for (const [index, mount] of (container.volumeMounts ?? []).entries()) {
    const at = `${path}.volumeMounts[${index}]`;
    if (!mount.name) yield required(`${at}.name`);
    if (!volumes.some((volume) => volume.name === mount.name)) yield notFound(`${at}.name`, mount.name);
    if (!mount.mountPath) yield required(`${at}.mountPath`);
    if (paths.has(mount.mountPath)) yield invalid(`${at}.mountPath`, mount.mountPath, 'must be unique');
    paths.add(mount.mountPath);
    if (devices.some((device) => device.name === mount.name)) {
      yield invalid(`${at}.name`, mount.name, 'must not already exist in volumeDevices');
    }
    if (devices.some((device) => device.devicePath === mount.mountPath)) {
      yield invalid(`${at}.mountPath`, mount.mountPath, 'must not already exist as a path in volumeDevices');
    }
    yield* validateSubPath(mount, at);
    yield* validatePropagation(mount, container.securityContext?.privileged === true, at);
  }
  yield* validateDevices(container, volumes, `${path}.volumeDevices`);
}

function* validateSubPath(mount: VolumeMount, path: string): Problems {
  if (mount.subPath) yield* descending(`${path}.subPath`, mount.subPath);
  if (!mount.subPathExpr) return;
  if (mount.subPath) {
    yield invalid(`${path}.subPathExpr`, mount.subPathExpr, 'subPathExpr and subPath are mutually exclusive');
  }
  yield* descending(`${path}.subPathExpr`, mount.subPathExpr);
}

function* validatePropagation(mount: VolumeMount, privileged: boolean, path: string): Problems {
  const { mountPropagation, recursiveReadOnly } = mount;
  yield* oneOf(`${path}.mountPropagation`, mountPropagation, ['Bidirectional', 'HostToContainer', 'None']);
  if (mountPropagation === 'Bidirectional' && !privileged) {
    const detail = 'Bidirectional mount propagation is available only to privileged containers';
    yield forbidden(`${path}.mountPropagation`, detail);
  }
  const at = `${path}.recursiveReadOnly`;
  yield* oneOf(at, recursiveReadOnly, ['Disabled', 'Enabled', 'IfPossible']);
  if (recursiveReadOnly !== 'Enabled' && recursiveReadOnly !== 'IfPossible') return;
  if (mount.readOnly !== true) yield forbidden(at, 'may only be specified when readOnly is true');
  if (mountPropagation !== undefined && mountPropagation !== 'None') {
    yield forbidden(at, 'may only be specified when mountPropagation is None or not specified');
  }
}

function* validateDevices(container: Container, volumes: readonly Volume[], path: string): Problems {
  const names = new Set<string>();
  const paths = new Set<string>();
  for (const [index, { name, devicePath }] of (container.volumeDevices ?? []).entries()) {
    const at = `${path}[${index}]`;
    const volume = volumes.find((one) => one.name === name);
    if (!name) yield required(`${at}.name`);
    if (names.has(name)) yield invalid(`${at}.name`, name, 'must be unique');
    names.add(name);
    if (volume === undefined) yield notFound(`${at}.name`, name);
    else if (!volume.persistentVolumeClaim && !volume.ephemeral) {
      const detail = 'can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode';
      yield invalid(`${at}.name`, name, detail);
    }
    if (!devicePath) yield required(`${at}.devicePath`);
    if (paths.has(devicePath)) yield invalid(`${at}.devicePath`, devicePath, 'must be unique');
    paths.add(devicePath);
    if (devicePath?.split('/').includes('..')) {
      yield invalid(`${at}.devicePath`, devicePath, "can not contain backsteps ('..')");
    }
  }
}
