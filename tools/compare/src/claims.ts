import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { ControlPlane } from '@node-agent/tools-control-plane';

/** Dependencies of {@link makeClaims}. */
export interface ClaimComponents {
  /** Name of the side, which is the name of its node and of its namespace. */
  readonly name: string;
  /** Directory of the side. */
  readonly directory: string;
  readonly controlPlane: Pick<ControlPlane, 'json'>;
}

const onNode = (name: string): object => ({
  required: {
    nodeSelectorTerms: [{ matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [name] }] }],
  },
});

/**
 * Returns the PersistentVolumes of a side by the names of their claims. The volume of the claim `unbound` is not
 * created.
 */
function volumesOf({ name, directory }: ClaimComponents): Readonly<Record<string, object | undefined>> {
  const local = (path: string, node = name): object => ({ local: { path }, nodeAffinity: onNode(node) });
  const mountOptions = ['noexec', 'nodev'];
  return {
    'host-path': { hostPath: { path: join(directory, 'host'), type: 'DirectoryOrCreate' } },
    'host-path-options': { hostPath: { path: join(directory, 'host') }, mountOptions: ['noexec'] },
    local: { ...local(join(directory, 'local')), mountOptions },
    'local-shared': { ...local(join(directory, 'local-shared')), mountOptions },
    'local-absent': local(join(directory, 'absent')),
    'local-file': local('/etc/hostname'),
    elsewhere: local(join(directory, 'local'), 'another-node'),
    unbound: undefined,
  };
}

/** Creates the PersistentVolumeClaims for the pods of a side, and the PersistentVolumes that they are bound to. */
export async function makeClaims(components: ClaimComponents): Promise<void> {
  const { name: side, directory, controlPlane } = components;
  for (const name of ['local', 'local-shared']) await mkdir(join(directory, name));
  const accessModes = ['ReadWriteMany'];
  for (const [name, spec] of Object.entries(volumesOf(components))) {
    const volumeName = `${side}-${name}`;
    const metadata = { name: volumeName, annotations: { 'pv.beta.kubernetes.io/gid': '4567' } };
    const all = { capacity: { storage: '1Mi' }, accessModes, storageClassName: '' };
    if (spec) await controlPlane.json('POST', '/api/v1/persistentvolumes', { metadata, spec: { ...all, ...spec } });
    await controlPlane.json('POST', `/api/v1/namespaces/${side}/persistentvolumeclaims`, {
      metadata: { name },
      spec: { accessModes, storageClassName: '', volumeName, resources: { requests: { storage: '1Mi' } } },
    });
  }
}
