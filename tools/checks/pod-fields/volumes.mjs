// Verdicts on the fields of volumes and their mounts.
import { files as t } from './tests.mjs';
import { others, partly, refused, works } from './verdicts.mjs';

const unsupportedTest = [t.volumes, 'is told before a pod is taken on'];
const unsupported = (fields, type, why) =>
  refused(fields, `volume c: type ${type} is not supported by this kubelet`, why, unsupportedTest);
/** A volume type that is not implemented: all of its fields have the same verdict. */
const whole = (type, fields, why) => [unsupported(fields, type, why)];

const claims = [t.claims, 'shows what it is bound to, read-only where the pod takes it so, and leaves it as it is'];
const local = [t.local, "is bound into each pod's own, where upstream has it, and stays as it is when they are gone"];
const disk = [t.local, 'is mounted once for the node, shown to each pod, and unmounted when the last is gone'];
const ownClaim = [t.claims, 'is named for it, and is its own'];
const otherTypes =
  'persistent volumes of types other than hostPath and local are refused with the message “failed to get Plugin from volumeSpec for volume "pv" err=type csi is not supported by this kubelet”';
const csi = 'CSI drivers are not implemented yet';
const removed =
  'upstream has removed the plugin too: a CSI driver replaces it, and CSI drivers are not implemented yet';
const inTree = 'upstream still has this in-tree plugin; it is not implemented yet';
const payload = [t.payload, 'optional keys'];
const filled = [t.projections, 'are where upstream has them, and read-only for containers'];
const anchors = [
  t.projections,
  'hold trust anchors by name or by signer, where they may be missing as where they may not',
];
const imageVolume = [t.imageVolumes, 'pulls the image of a volume once for all containers that mount it'];
const controller = 'the controller that creates the PersistentVolumeClaim';

export const volumes = {
  Volume: [
    works('name', [t.mounts, 'takes paths and flags over']),
    works('configMap downwardAPI projected secret', filled),
    works('emptyDir', [
      t.volumes,
      'in memory are a tmpfs of the least size that is said, mounted once, and unmounted in the end',
    ]),
    works('hostPath', [t.volumes, 'show in containers once they are ready, and not before']),
    works('image', imageVolume),
    partly('persistentVolumeClaim', otherTypes, claims, local, disk),
    partly('ephemeral', otherTypes, ownClaim),
    unsupported('csi', 'csi', csi),
    unsupported('fc', 'fc', inTree),
    unsupported('flexVolume', 'flexVolume', inTree),
    unsupported('iscsi', 'iscsi', inTree),
    unsupported('nfs', 'nfs', inTree),
    unsupported(
      'gitRepo',
      'gitRepo',
      'upstream refuses it since 1.33 too: the plugin ran git as root with input from the pod',
    ),
    ...[
      'awsElasticBlockStore azureDisk azureFile cephfs cinder flocker gcePersistentDisk glusterfs',
      'photonPersistentDisk portworxVolume quobyte rbd scaleIO storageos vsphereVolume',
    ].map((fields) => unsupported(fields, '…', removed)),
  ],
  VolumeMount: [
    works('mountPath mountPropagation name readOnly recursiveReadOnly', [t.mounts, 'takes paths and flags over']),
    works('subPath', [
      t.subPaths,
      'is made as the volume is, shown, shown again to the next container, and taken away with the volume',
    ]),
    works('subPathExpr', [t.subPaths, 'is named by the environment where it is an expression']),
  ],
  VolumeDevice: [
    refused(
      'devicePath name',
      'block volume "b" is not supported by this kubelet',
      'block volumes are not implemented yet',
      [t.mounts, 'names what each kind of container asks for'],
    ),
  ],
  EmptyDirVolumeSource: [
    works(
      'medium',
      [t.volumes, 'in memory are a tmpfs of the least size that is said, mounted once, and unmounted in the end'],
      [t.hugePages, 'is mounted once, is of the group, and is taken away'],
    ),
    partly('sizeLimit', 'for a volume on disk, eviction enforces the limit: a pod above it is evicted', [
      t.volumes,
      'in memory are a tmpfs of the least size that is said, mounted once, and unmounted in the end',
    ]),
  ],
  HostPathVolumeSource: [
    works('path type', [t.hostPath, 'gives the path as it is, follows links to tell the type, and asks for no label']),
  ],
  ConfigMapVolumeSource: [
    works('defaultMode items name optional', [
      t.projections,
      'wait for what is not there yet, with nothing on the disk, and not for what is optional',
    ]),
  ],
  SecretVolumeSource: [
    works('defaultMode items optional secretName', [
      t.projections,
      'wait for what is not there yet, with nothing on the disk, and not for what is optional',
    ]),
  ],
  KeyToPath: [works('key mode path', payload)],
  DownwardAPIVolumeSource: [works('defaultMode items', filled)],
  DownwardAPIVolumeFile: [
    works('fieldRef mode path resourceFieldRef', [t.payload, 'names each file that makes no sense']),
  ],
  ProjectedVolumeSource: [works('defaultMode sources', filled)],
  VolumeProjection: [
    works('clusterTrustBundle', anchors),
    works('configMap downwardAPI secret serviceAccountToken', filled),
    refused(
      'podCertificate',
      'projected source podCertificate is not supported by this kubelet',
      'not implemented yet',
      [t.projections, 'are refused by name where nothing gives what they need'],
    ),
  ],
  ClusterTrustBundleProjection: [works('labelSelector name optional path signerName', anchors)],
  ConfigMapProjection: [
    works('items name optional', [t.projections, 'name all sources of a projected volume that are missing']),
  ],
  SecretProjection: [
    works('items name optional', [t.projections, 'name all sources of a projected volume that are missing']),
  ],
  DownwardAPIProjection: [works('items', filled)],
  ServiceAccountTokenProjection: [
    works('audience expirationSeconds path', [
      t.projections,
      "give tokens to the pod's user alone, and to its group; and ask for them as the pod says",
    ]),
  ],
  PodCertificateProjection: [
    refused(
      'certificateChainPath credentialBundlePath keyPath keyType maxExpirationSeconds signerName userAnnotations',
      'projected source podCertificate is not supported by this kubelet',
      'not implemented yet',
      [t.projections, 'are refused by name where nothing gives what they need'],
    ),
  ],
  LabelSelector: [
    works('matchExpressions matchLabels', [t.trustLabels, 'of a signer are those of its bundles with matching labels']),
  ],
  LabelSelectorRequirement: [
    works('key operator values', [t.trustLabels, 'of a signer are those of its bundles with matching labels']),
  ],
  ImageVolumeSource: [works('pullPolicy reference', imageVolume)],
  PersistentVolumeClaimVolumeSource: [works('claimName readOnly', claims)],
  EphemeralVolumeSource: [works('volumeClaimTemplate', ownClaim)],
  PersistentVolumeClaimTemplate: [others('metadata spec', controller)],
  PersistentVolumeClaimSpec: [
    others(
      'accessModes dataSource dataSourceRef resources selector storageClassName volumeAttributesClassName volumeMode volumeName',
      controller,
    ),
  ],
  TypedLocalObjectReference: [others('apiGroup kind name', controller)],
  TypedObjectReference: [others('apiGroup kind name namespace', controller)],
  VolumeResourceRequirements: [others('limits requests', controller)],
  ObjectMeta: [
    others(
      'annotations creationTimestamp deletionGracePeriodSeconds deletionTimestamp finalizers generateName generation labels managedFields name namespace ownerReferences resourceVersion selfLink uid',
      `${controller}: inside a PodSpec, only the template of a PersistentVolumeClaim has metadata`,
    ),
  ],
  ManagedFieldsEntry: [others('apiVersion fieldsType fieldsV1 manager operation subresource time', controller)],
  OwnerReference: [others('apiVersion blockOwnerDeletion controller kind name uid', controller)],
  CSIVolumeSource: whole('csi', 'driver fsType nodePublishSecretRef readOnly volumeAttributes', csi),
  AWSElasticBlockStoreVolumeSource: whole('awsElasticBlockStore', 'fsType partition readOnly volumeID', removed),
  AzureDiskVolumeSource: whole('azureDisk', 'cachingMode diskName diskURI fsType kind readOnly', removed),
  AzureFileVolumeSource: whole('azureFile', 'readOnly secretName shareName', removed),
  CephFSVolumeSource: whole('cephfs', 'monitors path readOnly secretFile secretRef user', removed),
  CinderVolumeSource: whole('cinder', 'fsType readOnly secretRef volumeID', removed),
  FCVolumeSource: whole('fc', 'fsType lun readOnly targetWWNs wwids', inTree),
  FlexVolumeSource: whole('flexVolume', 'driver fsType options readOnly secretRef', inTree),
  FlockerVolumeSource: whole('flocker', 'datasetName datasetUUID', removed),
  GCEPersistentDiskVolumeSource: whole('gcePersistentDisk', 'fsType partition pdName readOnly', removed),
  GitRepoVolumeSource: whole('gitRepo', 'directory repository revision', 'upstream refuses it since 1.33 too'),
  GlusterfsVolumeSource: whole('glusterfs', 'endpoints path readOnly', removed),
  ISCSIVolumeSource: whole(
    'iscsi',
    'chapAuthDiscovery chapAuthSession fsType initiatorName iqn iscsiInterface lun portals readOnly secretRef targetPortal',
    inTree,
  ),
  NFSVolumeSource: whole('nfs', 'path readOnly server', inTree),
  PhotonPersistentDiskVolumeSource: whole('photonPersistentDisk', 'fsType pdID', removed),
  PortworxVolumeSource: whole('portworxVolume', 'fsType readOnly volumeID', removed),
  QuobyteVolumeSource: whole('quobyte', 'group readOnly registry tenant user volume', removed),
  RBDVolumeSource: whole('rbd', 'fsType image keyring monitors pool readOnly secretRef user', removed),
  ScaleIOVolumeSource: whole(
    'scaleIO',
    'fsType gateway protectionDomain readOnly secretRef sslEnabled storageMode storagePool system volumeName',
    removed,
  ),
  StorageOSVolumeSource: whole('storageos', 'fsType readOnly secretRef volumeName volumeNamespace', removed),
  VsphereVirtualDiskVolumeSource: whole(
    'vsphereVolume',
    'fsType storagePolicyID storagePolicyName volumePath',
    removed,
  ),
};
