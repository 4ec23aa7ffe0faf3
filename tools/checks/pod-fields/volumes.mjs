// Verdicts on the fields of volumes and their mounts.
import { files as t } from './tests.mjs';
import { others, partly, refused, works } from './verdicts.mjs';

const unsupportedTest = [t.volumes, 'admission reports an unsupported volume type before the pod starts'];
const unsupported = (fields, type, why) =>
  refused(fields, `volume c: type ${type} is not supported by this kubelet`, why, unsupportedTest);
/** Verdict on a volume type that is not implemented; it is the same for all fields of the type. */
const whole = (type, fields, why) => [unsupported(fields, type, why)];

const claims = [
  t.claims,
  'a PVC mounts the host path of its PersistentVolume, read-only if the pod requests it, and never changes that path',
];
const local = [
  t.local,
  "a local directory is bind-mounted at upstream's path for each pod, and keeps its files after the pods are removed",
];
const disk = [
  t.local,
  'a local disk is mounted once for the node, bind-mounted for each pod, and unmounted after the last pod',
];
const ownClaim = [
  t.claims,
  'the PVC of a generic ephemeral volume is named after pod and volume, and is refused if the pod does not own it',
];
const otherTypes =
  'persistent volumes of types that upstream has removed (cephfs, rbd and others) are refused with the message “failed to get Plugin from volumeSpec for volume "pv" err=type cephfs is not supported by this kubelet”';
const csi = [
  t.csi,
  "a persistent CSI volume is staged once and published to each pod at upstream's paths, and unstaged after the last pod",
];
const csiInline = [
  t.csi,
  'an inline CSI volume is published under a volume ID of its own, without attachment and staging',
];
const csiAttached = [t.csiAttach, 'V5: a CSI volume is staged only after it was reported in use and then attached'];
const csiBlock = [
  t.blocks,
  "a CSI block volume is staged, published and mapped at upstream's paths, and removed with its last pod",
];
const localBlock = [
  t.blocks,
  "a local block volume is mapped at upstream's paths without a node-level call, and removed with its pod",
];
const devices = [t.mounts, 'a block device of a volume with readOnly %s has the permissions %s'];
const nfs = [t.nfs, "an NFS volume is mounted at upstream's path for each pod, once, and is removed with its pod"];
const nfsProgram = [
  t.nfsProgram,
  'an NFS volume is mounted by mount.nfs with source, path and options, is measured, and leaves no mount',
];
const flex = [
  t.flex,
  "a flexVolume without attach is mounted by its driver at upstream's path with the pod's data, and unmounted with its pod",
];
const iscsi = [
  t.iscsi,
  "an iSCSI volume is logged in, mounted once at upstream's path and bound into each pod, and is logged out after the last",
];
const fc = [
  t.fc,
  "an FC volume is found by a scan, mounted once at upstream's path and bound into each pod, and removed after the last",
];
const flexProgram = [t.flexProgram, 'flexVolumes are mounted and unmounted by a real driver program, and measured'];
const expanded = [t.flex, 'a flexVolume is expanded by its driver, which gets device, path, new and former size'];
const removed = 'upstream has removed the plugin too';
/** Verdict on an in-tree volume type whose volumes become volumes of its CSI driver. */
const migrated = (fields) => works(fields, ...inTree);
const inTree = [
  [t.migration, 'the inline volume %j becomes the persistent CSI volume %s'],
  [t.migration, 'an inline vSphere volume is shared by the pods of the node, in a directory whose name has no slashes'],
];
const payload = [t.payload, 'only the existing keys if it is optional'];
const filled = [
  t.projections,
  "configMap, secret, downward API and projected volumes are at upstream's paths and read-only in containers",
];
const anchors = [t.projections, 'a projected clusterTrustBundle is selected by name or signer and may be optional'];
const imageVolume = [t.imageVolumes, 'pulls the image of a volume once for all containers that mount it'];
const controller = 'the controller that creates the PersistentVolumeClaim';

export const volumes = {
  Volume: [
    works('name', [t.mounts, 'container mounts get their paths and flags from the volumeMounts']),
    works('configMap downwardAPI projected secret', filled),
    works('emptyDir', [
      t.volumes,
      'an emptyDir of medium Memory is a tmpfs of the smallest declared size, mounted once, and unmounted when the pod is removed',
    ]),
    works('hostPath', [t.volumes, "containerMounts returns a pod's volumes only after they are ready"]),
    works('image', imageVolume),
    partly('persistentVolumeClaim', otherTypes, csi, csiAttached, csiBlock, claims, local, disk, localBlock),
    partly('ephemeral', otherTypes, ownClaim),
    works('csi', csiInline),
    works('fc', fc),
    works('flexVolume', flex, flexProgram, expanded),
    works('iscsi', iscsi),
    works('nfs', nfs, nfsProgram),
    unsupported(
      'gitRepo',
      'gitRepo',
      'upstream refuses it since 1.33 too: the plugin ran git as root with input from the pod',
    ),
    migrated('awsElasticBlockStore azureDisk azureFile cinder gcePersistentDisk portworxVolume vsphereVolume'),
    unsupported('cephfs flocker glusterfs photonPersistentDisk quobyte rbd scaleIO storageos', '…', removed),
  ],
  VolumeMount: [
    works('mountPath mountPropagation name readOnly recursiveReadOnly', [
      t.mounts,
      'container mounts get their paths and flags from the volumeMounts',
    ]),
    works('subPath', [
      t.subPaths,
      "a subPath gets the volume's permissions, is mounted for each container, and is unmounted with the volume",
    ]),
    works('subPathExpr', [t.subPaths, "a subPathExpr is expanded from the container's environment"]),
  ],
  VolumeDevice: [works('devicePath name', devices, csiBlock, localBlock)],
  EmptyDirVolumeSource: [
    works(
      'medium',
      [
        t.volumes,
        'an emptyDir of medium Memory is a tmpfs of the smallest declared size, mounted once, and unmounted when the pod is removed',
      ],
      [t.hugePages, 'a huge page emptyDir is mounted once, belongs to the fsGroup, and is removed with the pod'],
    ),
    partly(
      'sizeLimit',
      'for a volume on disk, the limit does not stop writes: a pod above it is evicted, as in upstream',
      [
        t.volumes,
        'an emptyDir of medium Memory is a tmpfs of the smallest declared size, mounted once, and unmounted when the pod is removed',
      ],
    ),
  ],
  HostPathVolumeSource: [
    works('path type', [
      t.hostPath,
      'a hostPath volume mounts its path as declared, checks the type behind symbolic links, and requests no SELinux relabelling',
    ]),
  ],
  ConfigMapVolumeSource: [
    works('defaultMode items name optional', [
      t.projections,
      'a pod waits for a missing required ConfigMap or Secret and does not wait for an optional one',
    ]),
  ],
  SecretVolumeSource: [
    works('defaultMode items optional secretName', [
      t.projections,
      'a pod waits for a missing required ConfigMap or Secret and does not wait for an optional one',
    ]),
  ],
  KeyToPath: [works('key mode path', payload)],
  DownwardAPIVolumeSource: [works('defaultMode items', filled)],
  DownwardAPIVolumeFile: [
    works('fieldRef mode path resourceFieldRef', [
      t.payload,
      'a downward API volume with invalid items is refused with an error that names each of them',
    ]),
  ],
  ProjectedVolumeSource: [works('defaultMode sources', filled)],
  VolumeProjection: [
    works('clusterTrustBundle', anchors),
    works('configMap downwardAPI secret serviceAccountToken', filled),
    refused(
      'podCertificate',
      'projected source podCertificate is not supported by this kubelet',
      'not implemented yet',
      [
        t.projections,
        'refuses configMap, secret, projected and downward API volumes by name if the manager has no component that provides their data',
      ],
    ),
  ],
  ClusterTrustBundleProjection: [works('labelSelector name optional path signerName', anchors)],
  ConfigMapProjection: [
    works('items name optional', [
      t.projections,
      'the error of a projected volume names all its missing ConfigMaps and Secrets',
    ]),
  ],
  SecretProjection: [
    works('items name optional', [
      t.projections,
      'the error of a projected volume names all its missing ConfigMaps and Secrets',
    ]),
  ],
  DownwardAPIProjection: [works('items', filled)],
  ServiceAccountTokenProjection: [
    works('audience expirationSeconds path', [
      t.projections,
      "service account tokens are requested with the pod's audience and expiry, and only the pod's user and group can read their files",
    ]),
  ],
  PodCertificateProjection: [
    refused(
      'certificateChainPath credentialBundlePath keyPath keyType maxExpirationSeconds signerName userAnnotations',
      'projected source podCertificate is not supported by this kubelet',
      'not implemented yet',
      [
        t.projections,
        'refuses configMap, secret, projected and downward API volumes by name if the manager has no component that provides their data',
      ],
    ),
  ],
  LabelSelector: [
    works('matchExpressions matchLabels', [
      t.trustLabels,
      'trust anchors of a signer are those of its ClusterTrustBundles with matching labels',
    ]),
  ],
  LabelSelectorRequirement: [
    works('key operator values', [
      t.trustLabels,
      'trust anchors of a signer are those of its ClusterTrustBundles with matching labels',
    ]),
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
  CSIVolumeSource: [works('driver fsType nodePublishSecretRef readOnly volumeAttributes', csiInline)],
  AWSElasticBlockStoreVolumeSource: [migrated('fsType partition readOnly volumeID')],
  AzureDiskVolumeSource: [migrated('cachingMode diskName diskURI fsType kind readOnly')],
  AzureFileVolumeSource: [migrated('readOnly secretName shareName')],
  CephFSVolumeSource: whole('cephfs', 'monitors path readOnly secretFile secretRef user', removed),
  CinderVolumeSource: [
    migrated('fsType readOnly volumeID'),
    others(
      'secretRef',
      'the CSI driver, which has its own secrets: upstream omits this field when it translates the volume to CSI',
    ),
  ],
  FCVolumeSource: [
    works('fsType lun readOnly targetWWNs', fc, [
      t.fc,
      'an FC volume with a multipath device needs no scan; the device is flushed before its paths are removed',
    ]),
    works('wwids', [t.fc, 'an FC volume is found by its WWID']),
  ],
  FlexVolumeSource: [
    works('driver fsType options readOnly', flex),
    works('secretRef', [
      t.flex,
      'a flexVolume with a secret %s is mounted by its driver, or fails to mount with the error: $2',
    ]),
  ],
  FlockerVolumeSource: whole('flocker', 'datasetName datasetUUID', removed),
  GCEPersistentDiskVolumeSource: [migrated('fsType partition pdName readOnly')],
  GitRepoVolumeSource: whole('gitRepo', 'directory repository revision', 'upstream refuses it since 1.33 too'),
  GlusterfsVolumeSource: whole('glusterfs', 'endpoints path readOnly', removed),
  ISCSIVolumeSource: [
    works('iqn lun targetPortal', iscsi),
    works('fsType readOnly', [
      t.iscsi,
      'an iSCSI volume has the declared file system, mount options, group and read-only flag',
    ]),
    works('chapAuthDiscovery chapAuthSession secretRef', [
      t.iscsi,
      'W4: an iSCSI volume gets CHAP credentials of a secret, which no message contains',
    ]),
    works('initiatorName iscsiInterface', [
      t.iscsi,
      'an iSCSI volume with an initiator name gets an interface with the settings of the declared one; it is deleted after the last pod',
    ]),
    works('portals', [
      t.iscsi,
      'an iSCSI volume with several portals uses the multipath device, also if one portal refuses the login',
    ]),
  ],
  NFSVolumeSource: [
    works('path readOnly server', [
      t.nfs,
      'the source of an NFS volume is server and path, and read-only if the pod spec sets readOnly',
    ]),
  ],
  PhotonPersistentDiskVolumeSource: whole('photonPersistentDisk', 'fsType pdID', removed),
  PortworxVolumeSource: [migrated('fsType readOnly volumeID')],
  QuobyteVolumeSource: whole('quobyte', 'group readOnly registry tenant user volume', removed),
  RBDVolumeSource: whole('rbd', 'fsType image keyring monitors pool readOnly secretRef user', removed),
  ScaleIOVolumeSource: whole(
    'scaleIO',
    'fsType gateway protectionDomain readOnly secretRef sslEnabled storageMode storagePool system volumeName',
    removed,
  ),
  StorageOSVolumeSource: whole('storageos', 'fsType readOnly secretRef volumeName volumeNamespace', removed),
  VsphereVirtualDiskVolumeSource: [
    migrated('fsType storagePolicyName volumePath'),
    others('storagePolicyID', 'the CSI driver: upstream omits this field when it translates the volume to CSI'),
  ],
};
