import { describe, expect, it } from 'vitest';
import type { PersistentVolumeData } from '../src/claims/claim-source.ts';
import { csiForm, inlineSpec } from '../src/migration/translation.ts';
import { type CsiFixture, claimPod, MemoryDriver, makeCsi, text } from './csi-helpers.ts';
import { errorOf, podOf, ROOT } from './helpers.ts';

const ZONE = 'topology.kubernetes.io/zone';
const BETA_ZONE = 'failure-domain.beta.kubernetes.io/zone';
const REGION = 'topology.kubernetes.io/region';
const BETA_REGION = 'failure-domain.beta.kubernetes.io/region';

type Spec = NonNullable<PersistentVolumeData['spec']>;

const volumeOf = (spec: Spec, metadata: PersistentVolumeData['metadata'] = {}): PersistentVolumeData => ({
  metadata: { name: 'pv', ...metadata },
  spec: { accessModes: ['ReadWriteOnce'], volumeMode: 'Filesystem', ...spec },
});

const requirement = (key: string, ...values: string[]): object => ({ key, operator: 'In', values });

const termsOf = ({ spec }: PersistentVolumeData): unknown =>
  spec?.nodeAffinity?.required?.nodeSelectorTerms.map(({ matchExpressions }) => matchExpressions);

const affinity = (...terms: object[][]): Pick<Spec, 'nodeAffinity'> => ({
  nodeAffinity: { required: { nodeSelectorTerms: terms.map((matchExpressions) => ({ matchExpressions })) as never } },
});

describe('the CSI form of an in-tree persistent volume', () => {
  const secret = { name: 's', namespace: 'n' };
  it.each<[string, PersistentVolumeData, object]>([
    [
      'an EBS disk with a zone in its ID',
      volumeOf({ awsElasticBlockStore: { volumeID: 'aws://us-east-1a/vol-01', fsType: 'ext4', partition: 3 } }),
      {
        driver: 'ebs.csi.aws.com',
        volumeHandle: 'vol-01',
        readOnly: false,
        fsType: 'ext4',
        volumeAttributes: { partition: '3' },
      },
    ],
    [
      'an EBS disk without a zone in its ID',
      volumeOf({ awsElasticBlockStore: { volumeID: 'aws:///vol-01', readOnly: true } }),
      {
        driver: 'ebs.csi.aws.com',
        volumeHandle: 'vol-01',
        readOnly: true,
        fsType: '',
        volumeAttributes: { partition: '0' },
      },
    ],
    [
      'a GCE disk without labels',
      volumeOf({ gcePersistentDisk: { pdName: 'd', fsType: 'xfs' } }),
      {
        ...{ driver: 'pd.csi.storage.gke.io', readOnly: false, fsType: 'xfs', volumeAttributes: { partition: '' } },
        volumeHandle: 'projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d',
      },
    ],
    [
      'a GCE disk with a zone',
      volumeOf({ gcePersistentDisk: { pdName: 'd', partition: 2 } }, { labels: { [ZONE]: 'us-east1-a' } }),
      {
        ...{ driver: 'pd.csi.storage.gke.io', readOnly: false, fsType: '', volumeAttributes: { partition: '2' } },
        volumeHandle: 'projects/UNSPECIFIED/zones/us-east1-a/disks/d',
      },
    ],
    [
      'a GCE disk in several zones of a region',
      volumeOf({ gcePersistentDisk: { pdName: 'd' } }, { labels: { [BETA_ZONE]: 'us-east1-a__us-east1-c' } }),
      {
        ...{ driver: 'pd.csi.storage.gke.io', readOnly: false, fsType: '', volumeAttributes: { partition: '' } },
        volumeHandle: 'projects/UNSPECIFIED/regions/us-east1/disks/d',
      },
    ],
    [
      'a managed Azure disk',
      volumeOf({
        azureDisk: {
          diskName: 'd',
          diskURI: '/subscriptions/1/d',
          kind: 'managed',
          fsType: 'ext4',
          cachingMode: 'None',
        },
      }),
      {
        ...{ driver: 'disk.csi.azure.com', volumeHandle: '/subscriptions/1/d', readOnly: false, fsType: 'ext4' },
        volumeAttributes: { kind: 'Managed', cachingmode: 'None', fstype: 'ext4' },
      },
    ],
    [
      'an Azure share with its own namespace and resource group',
      volumeOf(
        { azureFile: { shareName: 'share', secretName: 'azure-storage-account-acc-secret', secretNamespace: 'n' } },
        { annotations: { 'kubernetes.io/azure-file-resource-group': 'rg' } },
      ),
      {
        ...{ driver: 'file.csi.azure.com', volumeHandle: 'rg#acc#share#pv#n', readOnly: false },
        ...{ volumeAttributes: { sharename: 'share' } },
        nodeStageSecretRef: { name: 'azure-storage-account-acc-secret', namespace: 'n' },
      },
    ],
    [
      'an Azure share whose secret is in the namespace of the PVC',
      volumeOf({
        azureFile: { shareName: 'share', secretName: 'key', readOnly: true },
        claimRef: { namespace: 'ns' } as never,
      }),
      {
        ...{ driver: 'file.csi.azure.com', volumeHandle: '#key#share#pv#ns', readOnly: true },
        ...{ volumeAttributes: { sharename: 'share' }, nodeStageSecretRef: { name: 'key', namespace: 'ns' } },
      },
    ],
    [
      'a Cinder disk',
      volumeOf({ cinder: { volumeID: 'c1', fsType: 'ext4' } }),
      { driver: 'cinder.csi.openstack.org', volumeHandle: 'c1', readOnly: false, fsType: 'ext4', volumeAttributes: {} },
    ],
    [
      'a vSphere disk with a storage policy',
      volumeOf({ vsphereVolume: { volumePath: '[d] a/b.vmdk', storagePolicyName: 'gold' } }),
      {
        ...{ driver: 'csi.vsphere.vmware.com', volumeHandle: '[d] a/b.vmdk', fsType: '' },
        volumeAttributes: { storagepolicyname: 'gold' },
      },
    ],
    [
      'a Portworx volume with a secret',
      volumeOf(
        { portworxVolume: { volumeID: 'p1', fsType: 'ext4' } },
        { annotations: { 'openstorage.io/auth-secret-name': 's', 'openstorage.io/auth-secret-namespace': 'n' } },
      ),
      {
        ...{ driver: 'pxd.portworx.com', volumeHandle: 'p1', fsType: 'ext4', volumeAttributes: {} },
        ...{ controllerPublishSecretRef: secret, controllerExpandSecretRef: secret },
        ...{ nodeStageSecretRef: secret, nodePublishSecretRef: secret, nodeExpandSecretRef: secret },
      },
    ],
    [
      'a Portworx volume with half of the annotations',
      volumeOf({ portworxVolume: { volumeID: 'p1' } }, { annotations: { 'openstorage.io/auth-secret-name': 's' } }),
      { driver: 'pxd.portworx.com', volumeHandle: 'p1', fsType: '', volumeAttributes: {} },
    ],
  ])('the CSI form of %s has the source of its CSI driver, and the other fields unchanged', (_what, volume, csi) => {
    const before = structuredClone(volume);
    const { spec, metadata } = csiForm(volume);
    expect(spec?.csi).toEqual(csi);
    expect(metadata).toEqual(volume.metadata);
    expect(
      Object.keys(spec ?? {})
        .filter((field) => field !== 'csi' && field !== 'nodeAffinity')
        .sort(),
    ).toEqual(
      Object.keys(before.spec ?? {})
        .filter((field) => ['accessModes', 'claimRef', 'volumeMode'].includes(field))
        .sort(),
    );
    expect(volume).toEqual(before);
  });

  it.each<[string, PersistentVolumeData, string]>([
    [
      'an EBS disk of another form',
      volumeOf({ awsElasticBlockStore: { volumeID: 'aws://zone/disk-1' } }),
      'Invalid format for AWS volume (aws://zone/disk-1)',
    ],
    [
      'an EBS disk without a path',
      volumeOf({ awsElasticBlockStore: { volumeID: 'aws://vol-1' } }),
      'Invalid format for AWS volume',
    ],
    [
      'an unmanaged Azure disk',
      volumeOf({ azureDisk: { diskName: 'd', diskURI: 'u', kind: 'Shared' } }),
      'kind(Shared) is not supported in csi migration',
    ],
    [
      'an Azure share without a namespace',
      volumeOf({ azureFile: { shareName: 's', secretName: 'k' } }),
      'could not find a secret namespace',
    ],
    [
      'a GCE disk in two regions',
      volumeOf({ gcePersistentDisk: { pdName: 'd' } }, { labels: { [ZONE]: 'us-east1-a__us-west1-a' } }),
      'multiple or no regions',
    ],
    [
      'a GCE disk in odd zones',
      volumeOf({ gcePersistentDisk: { pdName: 'd' } }, { labels: { [ZONE]: 'here__there' } }),
      'zone in unexpected format',
    ],
  ])('csiForm refuses %s with the reason', (_what, volume, why) => {
    expect(() => csiForm(volume)).toThrow(why);
    expect(() => csiForm(volume)).toThrow(/^failed to translate in-tree pv to CSI: /);
  });

  it('csiForm returns a persistent volume of another type unchanged', () => {
    const volume = volumeOf({ nfs: { server: 's', path: '/' } });
    expect(csiForm(volume)).toBe(volume);
  });

  it.each<[readonly string[], readonly string[]]>([
    [['ReadWriteMany'], ['ReadWriteOnce']],
    [['ReadWriteOnce', 'ReadOnlyMany'], ['ReadWriteOnce']],
    [['ReadOnlyMany'], ['ReadOnlyMany']],
    [['ReadWriteOncePod'], ['ReadWriteOnce']],
  ])('a GCE disk with the access modes %j has the access modes %j in its CSI form', (accessModes, expected) => {
    expect(csiForm(volumeOf({ gcePersistentDisk: { pdName: 'd' }, accessModes })).spec?.accessModes).toEqual(expected);
  });
});

describe("the topology of an in-tree persistent volume's CSI form", () => {
  const ebs = { awsElasticBlockStore: { volumeID: 'vol-1' } };
  const ebsZone = 'topology.ebs.csi.aws.com/zone';
  const vmZone = 'topology.csi.vmware.com/zone';
  const vmRegion = 'topology.csi.vmware.com/region';
  const vm = { vsphereVolume: { volumePath: 'v' } };
  it.each<[string, PersistentVolumeData, unknown]>([
    [
      'a zone in the affinity gets the key of the driver',
      volumeOf({ ...ebs, ...affinity([requirement(ZONE, 'a')]) }),
      [[requirement(ebsZone, 'a')]],
    ],
    [
      'an older zone and region get newer keys',
      volumeOf({ ...ebs, ...affinity([requirement(BETA_ZONE, 'a'), requirement(BETA_REGION, 'r')]) }),
      [[requirement(ebsZone, 'a'), requirement(REGION, 'r')]],
    ],
    [
      'a newer region stays',
      volumeOf({ ...ebs, ...affinity([requirement(ZONE, 'a'), requirement(REGION, 'r')]) }),
      [[requirement(ebsZone, 'a'), requirement(REGION, 'r')]],
    ],
    [
      'the label is used without an affinity',
      volumeOf(ebs, { labels: { [ZONE]: 'b__a' } }),
      [[requirement(ebsZone, 'a', 'b')]],
    ],
    [
      'the older label is used without a newer one',
      volumeOf(ebs, { labels: { [BETA_ZONE]: 'a' } }),
      [[requirement(ebsZone, 'a')]],
    ],
    [
      'the affinity wins over the label',
      volumeOf({ ...ebs, ...affinity([requirement(ZONE, 'a')]) }, { labels: { [ZONE]: 'b' } }),
      [[requirement(ebsZone, 'a')]],
    ],
    [
      'the label is added to every term of another affinity',
      volumeOf({ ...ebs, ...affinity([requirement('x', '1')], [requirement('y', '2')]) }, { labels: { [ZONE]: 'a' } }),
      [
        [requirement('x', '1'), requirement(ebsZone, 'a')],
        [requirement('y', '2'), requirement(ebsZone, 'a')],
      ],
    ],
    ['an empty label adds nothing', volumeOf(ebs, { labels: { [ZONE]: ' ' } }), undefined],
    ['no label and no affinity stay so', volumeOf(ebs), undefined],
    [
      'vSphere has a key for regions',
      volumeOf({ ...vm, ...affinity([requirement(ZONE, 'a'), requirement(REGION, 'r')]) }),
      [[requirement(vmZone, 'a'), requirement(vmRegion, 'r')]],
    ],
    [
      'vSphere takes a label as one zone',
      volumeOf(vm, { labels: { [ZONE]: 'a__b', [REGION]: 'r' } }),
      [[requirement(vmZone, 'a__b'), requirement(vmRegion, 'r')]],
    ],
    [
      'Azure disks keep theirs',
      volumeOf({ azureDisk: { diskName: 'd', diskURI: 'u' }, ...affinity([requirement(ZONE, 'a')]) }),
      [[requirement(ZONE, 'a')]],
    ],
  ])('the CSI form of an in-tree persistent volume has translated zones and regions: %s', (_what, volume, terms) => {
    expect(termsOf(csiForm(volume))).toEqual(terms);
  });
});

describe('an inline volume of an in-tree type', () => {
  it.each([
    [{ awsElasticBlockStore: { volumeID: 'vol-1' } }, 'ebs.csi.aws.com-vol-1', 'vol-1', 'ReadWriteOnce'],
    [
      { gcePersistentDisk: { pdName: 'd', readOnly: true } },
      'pd.csi.storage.gke.io-d',
      'projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d',
      'ReadOnlyMany',
    ],
    [{ azureDisk: { diskName: 'd', diskURI: '/d', kind: 'Managed' } }, '/d', '/d', 'ReadWriteOnce'],
    [{ azureFile: { shareName: 's', secretName: 'k' } }, '#k#s#data#ns', '#k#s#data#ns', 'ReadWriteMany'],
    [{ cinder: { volumeID: 'c' } }, 'cinder.csi.openstack.org-c', 'c', 'ReadWriteOnce'],
    [{ vsphereVolume: { volumePath: 'v' } }, 'csi.vsphere.vmware.com-v', 'v', 'ReadWriteOnce'],
    [{ portworxVolume: { volumeID: 'p', readOnly: true } }, 'pxd.portworx.com-p', 'p', 'ReadOnlyMany'],
  ])('the inline volume %j becomes the persistent CSI volume %s', (source, name, handle, mode) => {
    const { persistent, isMigrated } = inlineSpec({ name: 'data', ...source }, 'ns');
    expect([persistent?.metadata, persistent?.spec?.csi?.volumeHandle, isMigrated]).toEqual([{ name }, handle, true]);
    expect([persistent?.spec?.accessModes, persistent?.spec?.volumeMode]).toEqual([[mode], 'Filesystem']);
  });

  it('inlineSpec returns an inline volume of another type unchanged', () => {
    expect(inlineSpec({ name: 'data', emptyDir: {} }, 'ns')).toEqual({ volume: { name: 'data', emptyDir: {} } });
  });
});

const EBS = 'ebs.csi.aws.com';

/** A node with the driver of EBS. */
function makeEbs(name: string = EBS): CsiFixture & { readonly ebs: MemoryDriver } {
  const fixture = makeCsi();
  const ebs = new MemoryDriver(fixture, name);
  fixture.registered.set(name, ebs);
  const modes = { attachRequired: false, volumeLifecycleModes: ['Persistent'], fsGroupPolicy: 'File' };
  fixture.api.drivers.set(name, { spec: modes });
  return { ...fixture, ebs };
}

describe('a pod with a volume of an in-tree type', () => {
  it('the volume of a PVC bound to an EBS disk is staged, published, unpublished and unstaged by the CSI driver', async () => {
    const { claims, clock, ebs, manager, mounter, fs, durations, signal } = makeEbs();
    claims.bind('c', 'pv-1', { accessModes: ['ReadWriteOnce'], awsElasticBlockStore: { volumeID: 'aws://z/vol-9' } });
    await manager.waitForAttachAndMount(claimPod('u1'), signal);
    expect(ebs.calls).toEqual(['stage vol-9', 'publish vol-9']);
    expect(ebs.stages[0]).toMatchObject({ volumeContext: { partition: '0' }, isMigrated: true });
    expect(ebs.publishes[0]).toMatchObject({ isMigrated: true });
    const directory = `${ROOT}/pods/u1/volumes/kubernetes.io~csi/pv-1`;
    expect(JSON.parse(await text(fs, `${directory}/vol_data.json`))).toMatchObject({
      driverName: EBS,
      specVolID: 'pv-1',
    });
    await manager.waitForUnmount(claimPod('u1'), signal);
    await clock.settle();
    expect(ebs.calls.slice(2)).toEqual(['unpublish vol-9', 'unstage vol-9']);
    expect((await mounter.mountPoints()).size).toBe(0);
    const name = `storage_operation_duration_seconds kubernetes.io/csi:${EBS}`;
    const operations = ['verify_controller_attached_volume', 'volume_mount', 'volume_unmount', 'unmount_device'];
    expect(durations).toEqual(operations.map((operation) => `${name} ${operation} success true`));
  });

  it('a PVC bound to an EBS disk in another zone is refused, by the zone label of the CSI driver on the node', async () => {
    const { claims, manager, signal } = makeEbs();
    claims.bind('c', 'pv-1', { awsElasticBlockStore: { volumeID: 'vol-9' }, ...affinity([requirement(ZONE, 'a')]) });
    claims.labels = { [ZONE]: 'a', 'topology.ebs.csi.aws.com/zone': 'b' };
    expect((await errorOf(manager.waitForAttachAndMount(claimPod('u1'), signal))).message).toContain(
      'NodeAffinity check failed',
    );
  });

  it('an inline vSphere volume is shared by the pods of the node, in a directory whose name has no slashes', async () => {
    const { ebs, clock, fs, manager, newManager, events, signal } = makeEbs('csi.vsphere.vmware.com');
    const pod = (uid: string): ReturnType<typeof podOf> =>
      podOf([{ name: 'data', vsphereVolume: { volumePath: '[d] a/b' } }], uid);
    ebs.before = () => {
      ebs.before = () => {};
      throw Object.assign(new Error('no'), { code: 'INTERNAL', isFinal: true });
    };
    await errorOf(manager.waitForAttachAndMount(pod('u1'), signal));
    expect(events[0]).toContain('failed for volume "csi.vsphere.vmware.com-[d] a/b"');
    await clock.advance(600);
    await manager.waitForAttachAndMount(pod('u1'), signal);
    await manager.waitForAttachAndMount(pod('u2'), signal);
    expect(ebs.calls).toEqual(['stage [d] a/b', 'publish [d] a/b', 'publish [d] a/b']);
    const directory = `${ROOT}/pods/u1/volumes/kubernetes.io~csi/csi.vsphere.vmware.com-[d] a~b`;
    const data = JSON.parse(await text(fs, `${directory}/vol_data.json`));
    expect(data.specVolID).toBe('csi.vsphere.vmware.com-[d] a/b');
    // The data file is lost, so the driver is taken from the pod's spec.
    await fs.remove(`${directory}/vol_data.json`);
    const next = newManager();
    await next.waitForUnmount(pod('u1'), signal);
    await next.waitForUnmount(pod('u2'), signal);
    expect(ebs.calls.filter((call) => call.startsWith('unpublish'))).toHaveLength(2);
  });

  it('a pod whose EBS volume cannot be translated to CSI waits with the reason, and is not rejected', async () => {
    const { manager, signal } = makeEbs();
    const pod = podOf([{ name: 'data', awsElasticBlockStore: { volumeID: 'aws://z/disk' } }], 'u1');
    expect(manager.unsupported(pod)).toEqual([]);
    const error = await errorOf(manager.waitForAttachAndMount(pod, signal));
    expect(error.message).toContain('Invalid format for AWS volume (aws://z/disk)');
  });

  it('an EBS volume of a PVC is expanded by the CSI driver', async () => {
    const { claims, ebs, manager, signal } = makeEbs();
    ebs.can = { ...ebs.can, expandVolume: true };
    const spec = {
      awsElasticBlockStore: { volumeID: 'vol-9' },
      capacity: { storage: '2Gi' },
      accessModes: ['ReadWriteOnce'],
    };
    claims.bind('c', 'pv-1', spec, { status: { phase: 'Bound', capacity: { storage: '1Gi' } } });
    claims.acceptPatches();
    await manager.waitForAttachAndMount(claimPod('u1'), signal);
    expect(ebs.expansions).toMatchObject([{ volumeId: 'vol-9', requiredBytes: 2n << 30n, isMigrated: true }]);
  });
});
